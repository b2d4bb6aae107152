// Names for threads, as debuggers and `top -H` show them.
#ifndef SERAPH_COMMON_CONCURRENT_THREAD_NAME_H_
#define SERAPH_COMMON_CONCURRENT_THREAD_NAME_H_

#include <string>

namespace seraph {

// Names the calling thread; what is longer than the kernel's 15 characters is
// cut off.
void NameThisThread(const std::string& name);

}  // namespace seraph

#endif  // SERAPH_COMMON_CONCURRENT_THREAD_NAME_H_

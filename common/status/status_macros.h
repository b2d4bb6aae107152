// Return-early macros for absl::Status and absl::StatusOr.
//
//   SERAPH_RETURN_IF_ERROR(store.Open(path));
//   SERAPH_ASSIGN_OR_RETURN(const Model model, ReadModel(path));
#ifndef SERAPH_COMMON_STATUS_STATUS_MACROS_H_
#define SERAPH_COMMON_STATUS_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define SERAPH_RETURN_IF_ERROR(expr)                                    \
  do {                                                                  \
    if (::absl::Status seraph_status_ = (expr); !seraph_status_.ok()) { \
      return seraph_status_;                                            \
    }                                                                   \
  } while (false)

#define SERAPH_STATUS_CONCAT_INNER_(a, b) a##b
#define SERAPH_STATUS_CONCAT_(a, b) SERAPH_STATUS_CONCAT_INNER_(a, b)

#define SERAPH_ASSIGN_OR_RETURN_IMPL_(statusor, lhs, expr) \
  auto statusor = (expr);                                  \
  if (!statusor.ok()) return std::move(statusor).status(); \
  lhs = *std::move(statusor)

#define SERAPH_ASSIGN_OR_RETURN(lhs, expr) \
  SERAPH_ASSIGN_OR_RETURN_IMPL_(           \
      SERAPH_STATUS_CONCAT_(seraph_status_or_, __LINE__), lhs, expr)

#endif  // SERAPH_COMMON_STATUS_STATUS_MACROS_H_

// Columns for people.
#ifndef SERAPH_CLIENT_RENDER_TEXT_TABLE_H_
#define SERAPH_CLIENT_RENDER_TEXT_TABLE_H_

#include <string>
#include <vector>

namespace seraph {

// Rows of cells under a heading. Columns are as wide as their widest cell and
// two blanks apart; those of numbers are aligned to the right. UTF-8 is counted
// by characters.
class TextTable {
 public:
  struct Column {
    std::string title;
    bool is_number = false;
  };

  explicit TextTable(std::vector<Column> columns);

  // Requires: as many cells as columns. Line ends and other control characters
  // become blanks: a row is a line.
  void AddRow(std::vector<std::string> cells);

  // Every line ends with '\n' and has no blanks before it.
  std::string ToString() const;

 private:
  const std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace seraph

#endif  // SERAPH_CLIENT_RENDER_TEXT_TABLE_H_

//! The reference page of problems.
//!
//! In: the table of codes. Out: Markdown.

use super::codes;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Problems

Generated from the program by `kubewright schema --problems`. Every problem that `kubewright check` and the other commands
find has a code, which stays the same from version to version; `kubewright check --explain CODE` prints its line of the
table below.

## For machines

`kubewright check -o json` prints one document on standard output. It is the same for the same files: problems are sorted by
file and place, and those without a place come first. Lines and columns count from 1, columns count characters, and the end
is the first character that is no longer meant. `file`, its four numbers and `hint` are left out where there are none.

```json
{
  \"problems\": [
    {
      \"code\": \"unknown-field\",
      \"severity\": \"error\",
      \"file\": \"rules/web.yaml\",
      \"line\": 8,
      \"column\": 7,
      \"endLine\": 8,
      \"endColumn\": 15,
      \"message\": \"unknown field `tempalte`\",
      \"hint\": \"did you mean `template`?\"
    }
  ]
}
```

`kubewright check -o sarif` prints SARIF 2.1.0, which code hosts show beside the lines; paths are relative to the folder that
the command runs in.

| exit code | meaning |
|---|---|
| 0 | no errors; there may be warnings |
| 1 | the files could not be read, so that nothing was checked and no document is printed |
| 2 | the command line is wrong |
| 3 | there are errors |

## Codes

| code | what is wrong | what to do |
|---|---|---|
";

/// Every code with its explanation.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for code in codes::all() {
        // Writing to a String cannot fail.
        let (meaning, remedy) = (cell(code.meaning), cell(code.remedy));
        let _ = writeln!(page, "| `{}` | {meaning} | {remedy} |", code.name);
    }
    page
}

/// A table's cells end at every `|`, even in code.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

//! The files of a patch, with the number of lines that changed in each.

use protocol::{ChangeSummary, quote_path};
use serde::Serialize;

use super::folded_lines::{LISTED, folded_lines};
use super::numbers::count;
use super::patch::DiffPart;
use super::printable::{fit, one_line, width};
use super::task_table::TableRows;
use super::terminal::{Meaning, Palette};

/// One changed file of a patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ChangedFile {
    /// Its path; bytes that are not UTF-8 are `�`.
    path: String,
    /// Its path before, if it was renamed.
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    /// What became of it.
    change: FileChange,
    /// Whether it has no lines.
    binary: bool,
    /// How many lines were added.
    added: u64,
    /// How many lines were removed.
    removed: u64,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FileChange {
    Changed,
    Added,
    Removed,
    Renamed,
    Mode,
}

impl ChangedFile {
    /// Returns the files of a patch in git's format, in its order.
    #[must_use]
    pub fn of_patch(patch: &[u8]) -> Vec<Self> {
        let mut files: Vec<Self> = Vec::new();
        let mut part = DiffPart::Header;
        for line in patch.split(|byte| *byte == b'\n') {
            if let Some(names) = line.strip_prefix(b"diff --git ") {
                part = DiffPart::Header;
                files.push(Self::new(names));
                continue;
            }
            let Some(file) = files.last_mut() else { continue };
            let text = String::from_utf8_lossy(line);
            part = part.after(&text);
            match (part, line.first()) {
                (DiffPart::Hunk, Some(b'+')) => file.added += 1,
                (DiffPart::Hunk, Some(b'-')) => file.removed += 1,
                (DiffPart::Hunk, _) => {}
                (DiffPart::Header, _) => file.read_header(&text),
            }
        }
        files
    }

    /// Returns the file of a header, which has its name twice.
    fn new(names: &[u8]) -> Self {
        let second = names.get(names.len() / 2 + 1..).unwrap_or_default();
        let second = String::from_utf8_lossy(second);
        let second = unquoted(&second);
        let path = second.strip_prefix("b/").unwrap_or(&second).to_owned();
        let change = FileChange::Changed;
        Self { path, from: None, change, binary: false, added: 0, removed: 0 }
    }

    fn read_header(&mut self, line: &str) {
        if let Some(path) = line.strip_prefix("rename from ") {
            (self.from, self.change) = (Some(unquoted(path)), FileChange::Renamed);
        } else if let Some(path) = line.strip_prefix("rename to ") {
            self.path = unquoted(path);
        } else if line.starts_with("new file mode ") {
            self.change = FileChange::Added;
        } else if line.starts_with("deleted file mode ") {
            self.change = FileChange::Removed;
        } else if line.starts_with("new mode ") {
            self.change = FileChange::Mode;
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            self.binary = true;
        }
    }

    /// Returns the size of the change of several files. A renamed file is one.
    #[must_use]
    pub fn sum(files: &[Self]) -> ChangeSummary {
        let sum = |number: fn(&Self) -> u64| files.iter().map(number).sum();
        let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
        ChangeSummary { files: files.len() as u64, added, removed }
    }

    fn name(&self) -> String {
        let path = quote_path(self.path.as_bytes());
        match &self.from {
            Some(from) => one_line(&format!("{} → {path}", quote_path(from.as_bytes()))),
            None => one_line(&path),
        }
    }

    /// Returns whether the file has a new name and no other change.
    fn is_moved(&self) -> bool {
        self.change == FileChange::Renamed && !self.binary && (self.added, self.removed) == (0, 0)
    }

    /// Returns what is said beside the numbers of lines.
    fn note(&self) -> &'static str {
        match (self.change, self.binary) {
            (FileChange::Changed | FileChange::Renamed, false) => "",
            (FileChange::Changed | FileChange::Renamed, true) => "binary",
            (FileChange::Added, false) => "added",
            (FileChange::Added, true) => "added, binary",
            (FileChange::Removed, false) => "removed",
            (FileChange::Removed, true) => "removed, binary",
            (FileChange::Mode, false) => "mode",
            (FileChange::Mode, true) => "mode, binary",
        }
    }
}

/// Returns a path of a patch without the quotes and escapes that git gives it for letters that are not ASCII.
fn unquoted(path: &str) -> String {
    let Some(quoted) = path.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) else {
        return path.to_owned();
    };
    let (mut bytes, mut rest) = (Vec::new(), quoted.as_bytes());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let digits = after.iter().take(3).take_while(|digit| (b'0'..=b'7').contains(digit)).count();
        if digits == 3 {
            let value =
                after[..3].iter().fold(0_u8, |sum, digit| sum.wrapping_mul(8) + (digit - b'0'));
            bytes.push(value);
            rest = &after[3..];
        } else if let [escape, after @ ..] = after {
            bytes.push(match escape {
                b'a' => 0x07,
                b'b' => 0x08,
                b'f' => 0x0c,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 0x0b,
                other => *other,
            });
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// How many files whose lines have not changed are listed one by one.
const UNCHANGED: usize = 10;

/// The heading above the files of one of several tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskHeading {
    /// The outcome of the task. Of many headings with the same one, only some are listed.
    pub outcome: String,
    /// The whole line; printable.
    pub line: String,
}

/// The files that a task has changed.
pub type TaskFiles = (Option<TaskHeading>, Vec<ChangedFile>);

/// Returns the lines of the files of several tasks, each below its heading if it has one, and the sum of
/// more than one file. A task without files is left out. Unless all rows are asked for, many files that
/// were renamed and have the same content are one line with their count, and of many tasks only the
/// headings are listed, and of many headings with the same outcome the first ones.
#[must_use]
pub fn file_lines<'a>(works: &'a [TaskFiles], rows: TableRows, palette: Palette) -> Vec<String> {
    let is_listed = |files: &[ChangedFile]| {
        rows == TableRows::All || files.iter().filter(|file| file.is_moved()).count() <= UNCHANGED
    };
    let headed = works.iter().filter(|(heading, files)| heading.is_some() && !files.is_empty());
    let is_long = rows != TableRows::All && headed.count() > LISTED;
    let files: Vec<&ChangedFile> = works.iter().flat_map(|(_, files)| files).collect();
    let listed = |files: &'a [ChangedFile]| {
        let all = is_listed(files);
        files.iter().filter(move |file| all || !file.is_moved())
    };
    let widest = works.iter().flat_map(|(_, files)| listed(files));
    let widest = widest.map(|file| width(&file.name())).max().unwrap_or(0);
    let digits = |number: fn(&ChangedFile) -> u64| {
        files.iter().map(|file| number(file).to_string().len()).max().unwrap_or(0)
    };
    let (of_added, of_removed) = (digits(|file| file.added), digits(|file| file.removed));
    let line = |file: &ChangedFile| {
        let added = format!("+{:<of_added$}", file.added);
        let removed = format!("−{:<of_removed$}", file.removed);
        let (added, removed) =
            (palette.paint(Meaning::Good, &added), palette.paint(Meaning::Bad, &removed));
        let name = fit(&file.name(), widest);
        format!("{name}  {added} {removed}  {}", file.note()).trim_end().to_owned()
    };
    let mut lines = Vec::new();
    if is_long {
        let headings = works.iter().filter(|(_, files)| !files.is_empty());
        let headings = headings.filter_map(|(heading, _)| heading.as_ref());
        let headings = headings.map(|TaskHeading { outcome, line }| {
            (outcome.as_str(), palette.paint(Meaning::Heading, line))
        });
        lines = folded_lines(headings.collect(), LISTED, |outcome, more| {
            format!("and {} with the outcome {outcome}", count(more, "more task"))
        });
    }
    for (heading, files) in works.iter().filter(|(_, files)| !is_long && !files.is_empty()) {
        let title = heading.as_ref().map(|heading| palette.paint(Meaning::Heading, &heading.line));
        lines.extend(title);
        let indent = if heading.is_some() { "  " } else { "" };
        lines.extend(listed(files).map(|file| format!("{indent}{}", line(file))));
        if !is_listed(files) {
            let moved = files.iter().filter(|file| file.is_moved()).count();
            lines.push(format!(
                "{indent}{} renamed, with the same content (--all lists them)",
                count(moved, "file")
            ));
        }
    }
    if files.len() > 1 {
        let sum = |number: fn(&ChangedFile) -> u64| files.iter().copied().map(number).sum::<u64>();
        let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
        let all = if is_long { " (--all lists the files)" } else { "" };
        lines.push(format!("{} · +{added} −{removed}{all}", count(files.len(), "file")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "\
diff --git a/a b/c.txt b/a b/c.txt
index 1..2 100644
--- a/a b/c.txt
+++ b/a b/c.txt
@@ -1,2 +1,3 @@
 same
--- a line that was removed
++++ one that was added
+diff --git a/x b/x
\\ No newline at end of file
diff --git a/old.rs b/new.rs
similarity index 90%
rename from old.rs
rename to new.rs
diff --git \"a/t\\tab\" \"b/t\\tab\"
new file mode 100644
index 0..1
GIT binary patch
literal 3
Kc${Nk

diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/gone b/gone
deleted file mode 100644
--- a/gone
+++ /dev/null
@@ -1 +0,0 @@
-x
";

    fn heading(line: &str) -> Option<TaskHeading> {
        Some(TaskHeading { outcome: "landed".to_owned(), line: line.to_owned() })
    }

    #[test]
    fn files_are_listed_with_their_lines_and_what_became_of_them() {
        let files = ChangedFile::of_patch(PATCH.as_bytes());
        let sum = ChangedFile::sum(&files);
        assert_eq!((sum.files, sum.added, sum.removed), (5, 2, 2), "a renamed file is one");
        let lines = file_lines(&[(None, files)], TableRows::Folded, Palette::Plain);
        let expected = [
            "a b/c.txt        +2 −1",
            "old.rs → new.rs  +0 −0",
            "\"t\\tab\"          +0 −0  added, binary",
            "run              +0 −0  mode",
            "gone             +0 −1  removed",
            "5 files · +2 −2",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_path_is_shown_with_its_letters_and_quoted_only_where_it_cannot_be_printed() {
        let name = |quoted: &str| {
            let patch = format!("diff --git \"a/{quoted}\" \"b/{quoted}\"\n");
            ChangedFile::of_patch(patch.as_bytes())[0].name()
        };
        for (quoted, shown) in [
            (r"\303\274.txt", "ü.txt"),
            (r"\346\227\245/a b", "日/a b"),
            (r"a\033[2J", r#""a\033[2J""#),
            (r#"say \"hi\""#, r#""say \"hi\"""#),
        ] {
            assert_eq!(name(quoted), shown, "{quoted}");
        }
        let renamed = "diff --git a/x \"b/\\303\\274\"\nrename from x\nrename to \"\\303\\274\"\n";
        let files = ChangedFile::of_patch(renamed.as_bytes());
        assert_eq!((files[0].name().as_str(), files[0].path.as_str()), ("x → ü", "ü"));
        assert_eq!(ChangedFile::of_patch(b"diff --git \"a/\\\" \"b/\\\"\n").len(), 1);
    }

    #[test]
    fn files_of_tasks_are_below_their_headings() {
        let files = |patch: &str| ChangedFile::of_patch(patch.as_bytes());
        let long = files("diff --git a/a-long-name b/a-long-name\n@@\n+x\n");
        let short = files("diff --git a/x b/x\n@@\n-x\n");
        let works = [(heading("one"), long), (heading("none"), Vec::new())];
        assert_eq!(
            file_lines(&works, TableRows::Folded, Palette::Plain),
            ["one", "  a-long-name  +1 −0"]
        );
        let [one, none] = works;
        let lines =
            file_lines(&[one, none, (heading("two"), short)], TableRows::Folded, Palette::Plain);
        let expected =
            ["one", "  a-long-name  +1 −0", "two", "  x            +0 −1", "2 files · +1 −1"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn many_files_that_were_only_renamed_are_one_line_unless_all_are_asked_for() {
        let renamed =
            |at| format!("diff --git a/a{at} b/b{at}\nrename from a{at}\nrename to b{at}\n");
        let patch: String = (0..50).map(renamed).collect();
        let changed = "diff --git a/x b/x\n@@\n-x\n";
        let works = [(None, ChangedFile::of_patch(format!("{patch}{changed}").as_bytes()))];
        let folded = file_lines(&works, TableRows::Folded, Palette::Plain);
        let expected = [
            "x  +0 −1",
            "50 files renamed, with the same content (--all lists them)",
            "51 files · +0 −1",
        ];
        assert_eq!(folded, expected);
        assert_eq!(file_lines(&works, TableRows::All, Palette::Plain).len(), 52);
    }

    #[test]
    fn many_tasks_are_one_line_each_unless_all_files_are_asked_for() {
        let patch = "diff --git a/x b/x\n@@\n-x\n";
        let work = |at| (heading(&format!("task {at}")), ChangedFile::of_patch(patch.as_bytes()));
        let mut works: Vec<_> = (0..38).map(work).collect();
        let outcome = "conflict".to_owned();
        works[37].0 = Some(TaskHeading { outcome, line: "other".to_owned() });
        let folded = file_lines(&works, TableRows::Folded, Palette::Plain);
        assert_eq!(folded.len(), LISTED + 3);
        assert_eq!(folded[..2], ["task 0", "task 1"]);
        assert_eq!(folded[LISTED], "and 17 more tasks with the outcome landed");
        assert_eq!(folded[LISTED + 1], "other");
        assert_eq!(folded[LISTED + 2], "38 files · +0 −38 (--all lists the files)");
        assert_eq!(file_lines(&works, TableRows::All, Palette::Plain).len(), 2 * 38 + 1);
        let few = file_lines(&works[..LISTED], TableRows::Folded, Palette::Plain);
        assert_eq!(few.len(), 2 * LISTED + 1);
    }

    #[test]
    fn what_is_no_patch_has_no_files() {
        for text in ["", "diff --git", "+x\n-y\n@@\n+z", "\u{1b}[2J"] {
            assert_eq!(ChangedFile::of_patch(text.as_bytes()), [], "{text:?}");
        }
        let short = ChangedFile::of_patch(b"diff --git \n@@\n+x");
        assert_eq!((short.len(), short[0].added), (1, 1));
    }
}

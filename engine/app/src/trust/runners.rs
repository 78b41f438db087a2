//! The table of programs that run what files of a repository say.

use std::collections::BTreeMap;
use std::sync::LazyLock;

const TABLE: &str = include_str!("runners.txt");

/// Returns the files that a program reads at the root of a repository; `None` if the program is not known.
pub(super) fn files_of(program: &str) -> Option<&'static [&'static str]> {
    static FILES: LazyLock<BTreeMap<&str, Vec<&str>>> = LazyLock::new(|| {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let rows = lines.filter_map(|line| line.rsplit_once(':'));
        rows.flat_map(|(programs, files)| {
            let files: Vec<_> = files.split_whitespace().collect();
            programs.split_whitespace().map(move |program| (program, files.clone()))
        })
        .collect()
    });
    FILES.get(program).map(Vec::as_slice)
}

/// Returns whether a program is a shell, which runs the files that are its arguments.
pub(super) fn is_shell(program: &str) -> bool {
    matches!(program, "sh" | "bash" | "dash" | "zsh" | "ksh")
}

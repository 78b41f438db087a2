//! The commands that only read, with the options that keep it so. git is not among them, because it runs what
//! the configuration of a repository names.

use crate::ports::ShellWord;

/// A command that only reads.
struct Command {
    name: &'static str,
    /// The options of one letter without a value.
    flags: &'static str,
    /// The options of one letter with a value that is not a path.
    values: &'static str,
    /// The long options. A value, if any, is behind `=`.
    long: &'static [&'static str],
    operands: Operands,
}

/// Which arguments of a command are not options.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operands {
    /// Paths.
    Paths,
    /// At most one path: a second one is written.
    OnePath,
    /// A pattern, unless `-e` gives it, then paths.
    PatternThenPaths,
    /// Texts that are not paths.
    Texts,
}

const TEXT: Command =
    Command { name: "", flags: "", values: "", long: &[], operands: Operands::Texts };
const FILES: Command = Command { operands: Operands::Paths, ..TEXT };
const GREP: Command = Command {
    name: "grep",
    flags: "EFGPivwxcoqshHnbaILlrzTUyZ",
    values: "ABCme",
    long: &[
        "count",
        "color",
        "colour",
        "ignore-case",
        "line-number",
        "files-with-matches",
        "only-matching",
        "files-without-match",
        "word-regexp",
        "line-regexp",
        "invert-match",
        "recursive",
        "include",
        "exclude",
        "exclude-dir",
        "fixed-strings",
        "extended-regexp",
        "perl-regexp",
        "no-filename",
        "with-filename",
        "max-count",
        "quiet",
        "silent",
        "no-messages",
        "after-context",
        "before-context",
        "context",
        "text",
    ],
    operands: Operands::PatternThenPaths,
};

// What follows symlinks below a folder, as `diff` does, reads a list of files, or writes is left out.
const TABLE: &[Command] = &[
    Command { name: "basename", ..TEXT },
    Command { name: "cat", flags: "AbeEnstTuv", ..FILES },
    Command { name: "cmp", flags: "bls", ..FILES },
    Command { name: "cut", flags: "nsz", values: "bcdf", ..FILES },
    Command { name: "dirname", ..TEXT },
    Command {
        name: "du",
        flags: "abchkms0x",
        values: "d",
        long: &["all", "bytes", "human-readable", "max-depth", "summarize", "total"],
        ..FILES
    },
    Command { name: "echo", flags: "neE", ..TEXT },
    Command { name: "egrep", ..GREP },
    Command { name: "false", ..TEXT },
    Command { name: "fgrep", ..GREP },
    GREP,
    Command { name: "head", flags: "qvz", values: "cn", long: &["lines", "bytes"], ..FILES },
    Command {
        name: "ls",
        flags: "1aAbBcCdfFgGhiklmnNopqQrRsStuUvxX",
        long: &[
            "all",
            "almost-all",
            "classify",
            "color",
            "directory",
            "full-time",
            "group-directories-first",
            "human-readable",
            "inode",
            "recursive",
            "reverse",
            "size",
            "sort",
            "time",
        ],
        ..FILES
    },
    Command { name: "pwd", flags: "LP", ..TEXT },
    Command { name: "readlink", flags: "efmnqsvz", ..FILES },
    Command { name: "realpath", flags: "emLPqsz", ..FILES },
    Command { name: "sort", flags: "bcCdfghiMmnrRsuVz", values: "kt", ..FILES },
    Command { name: "stat", flags: "ft", values: "c", long: &["format", "printf"], ..FILES },
    Command { name: "tail", flags: "qvz", values: "cn", long: &["lines", "bytes"], ..FILES },
    Command { name: "tr", flags: "cCdst", ..TEXT },
    Command { name: "true", ..TEXT },
    Command { name: "uniq", flags: "cdDiuz", values: "fsw", operands: Operands::OnePath, ..TEXT },
    Command {
        name: "wc",
        flags: "clmLw",
        long: &["bytes", "chars", "lines", "max-line-length", "words"],
        ..FILES
    },
];

/// Commands that are not harmless, and read no file that their arguments name.
const READ_NOTHING: &[&str] = &[
    ":", "[", "exit", "export", "kill", "mkdir", "printf", "return", "rm", "set", "shift", "sleep",
    "test", "touch", "unset",
];

/// Returns whether a command reads no file that its arguments name.
pub(super) fn reads_nothing(name: &str) -> bool {
    let is_text = |command: &Command| command.name == name && command.operands == Operands::Texts;
    READ_NOTHING.contains(&name) || TABLE.iter().any(is_text)
}

/// Returns the paths that a command reads, or nothing if it may do more than reading.
pub(super) fn read_paths(words: &[ShellWord]) -> Option<Vec<&str>> {
    let words: Option<Vec<&str>> = words.iter().map(ShellWord::literal).collect();
    let words = words?;
    let (name, arguments) = words.split_first()?;
    let command = TABLE.iter().find(|command| command.name == *name)?;
    let mut operands = Vec::new();
    let mut has_pattern = command.operands != Operands::PatternThenPaths;
    let mut arguments = arguments.iter().copied();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            operands.extend(arguments.by_ref());
        } else if let Some(long) = argument.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or(long);
            command.long.contains(&name).then_some(())?;
        } else if argument.len() > 1 && argument.starts_with('-') {
            let letters = &argument[1..];
            let is_count = letters.bytes().all(|digit| digit.is_ascii_digit());
            if is_count && command.values.contains(['n', 'C']) {
                continue;
            }
            let last = letters.trim_start_matches(|letter| command.flags.contains(letter));
            match last.chars().next() {
                None => {}
                Some(letter) if command.values.contains(letter) => {
                    has_pattern |= letter == 'e';
                    if last.len() == 1 {
                        arguments.next()?;
                    }
                }
                // `echo` prints what it does not know.
                Some(_) if command.name == "echo" => {}
                Some(_) => return None,
            }
        } else {
            operands.push(argument);
        }
    }
    let skipped = usize::from(!has_pattern).min(operands.len());
    let operands = operands.split_off(skipped);
    let paths = match command.operands {
        Operands::Texts => Vec::new(),
        Operands::OnePath if operands.len() > 1 => return None,
        Operands::Paths | Operands::OnePath | Operands::PatternThenPaths => operands,
    };
    Some(paths.into_iter().filter(|path| *path != "-").collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(line: &str) -> Option<Vec<String>> {
        let words: Vec<_> =
            line.split(' ').map(|word| ShellWord::Literal(word.to_owned())).collect();
        read_paths(&words).map(|paths| paths.into_iter().map(str::to_owned).collect())
    }

    #[test]
    fn a_command_reads_the_paths_among_its_arguments() {
        for (line, expected) in [
            ("ls", &[][..]),
            ("ls -la src docs", &["src", "docs"]),
            ("cat -- -x", &["-x"]),
            ("cat - a", &["a"]),
            ("head -5 a", &["a"]),
            ("head -n 5 a", &["a"]),
            ("head -n5 a", &["a"]),
            ("grep -rn x src", &["src"]),
            ("grep -e x -e y src", &["src"]),
            ("grep --include=*.rs x src", &["src"]),
            ("grep x", &[]),
            ("echo -x a", &[]),
            ("sort -k 2 a", &["a"]),
            ("uniq a", &["a"]),
        ] {
            assert_eq!(paths(line).expect(line), expected, "{line}");
        }
    }

    #[test]
    fn what_may_write_run_or_follow_links_is_not_harmless() {
        for line in [
            "git status",
            "find .",
            "sort -o a b",
            "sort --compress-program=x a",
            "uniq a b",
            "grep -R x .",
            "grep -f a b",
            "grep --file=a b",
            "wc --files0-from=a",
            "ls -L",
            "tail -f a",
            "diff a b",
            "./ls",
            "/bin/ls",
            "cp a b",
            "sed s/a/b/ a",
            "awk x",
            "du -L a",
            "head -n",
            "env",
            "rg x",
        ] {
            assert_eq!(paths(line), None, "{line}");
        }
        let computed = [ShellWord::Literal("ls".to_owned()), ShellWord::Computed("*".to_owned())];
        assert_eq!(read_paths(&computed), None);
        assert_eq!(read_paths(&[]), None);
    }
}

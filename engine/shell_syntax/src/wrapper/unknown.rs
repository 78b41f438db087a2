//! The builtins and programs of which it cannot be known what they run.

use engine::ports::ShellWord;

/// Commands that run what they get, or change what later words mean.
const UNKNOWN: &[&str] = &[
    ".",
    "alias",
    "bind",
    "compgen",
    "complete",
    "coproc",
    "declare",
    "enable",
    "eval",
    "fc",
    "hash",
    "let",
    "mapfile",
    "readarray",
    "source",
    "trap",
    "typeset",
];

/// Programs that run another one, or a text, in ways that are not looked through.
const PROGRAMS: &[&str] = &[
    "at",
    "batch",
    "bwrap",
    "capsh",
    "chpst",
    "chroot",
    "chrt",
    "choom",
    "csh",
    "elvish",
    "entr",
    "expect",
    "fakeroot",
    "firejail",
    "fish",
    "flock",
    "gdb",
    "i386",
    "lldb",
    "ltrace",
    "nsenter",
    "nu",
    "numactl",
    "parallel",
    "perf",
    "pkexec",
    "prlimit",
    "proot",
    "pwsh",
    "rlwrap",
    "run-parts",
    "runcon",
    "runuser",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "sg",
    "ssh",
    "start-stop-daemon",
    "strace",
    "su",
    "systemd-run",
    "taskset",
    "tcsh",
    "tmux",
    "uclampset",
    "uname26",
    "unbuffer",
    "unshare",
    "valgrind",
    "watch",
    "x86_64",
    "xonsh",
    "linux32",
    "linux64",
];

/// Returns why it cannot be known what a command runs, if so.
pub(super) fn unseen_reason(name: &str, arguments: &[ShellWord]) -> Option<&'static str> {
    if UNKNOWN.contains(&name) {
        return Some("a builtin of the shell runs a text, or changes the meaning of words");
    }
    if PROGRAMS.contains(&name) || name.starts_with("ld-") || name.starts_with("ld.so") {
        return Some("a program runs another one, or a text");
    }
    evaluates(name, arguments).then_some("a builtin of the shell may evaluate a subscript")
}

/// Returns whether a builtin may run what is in the subscript of an array: `test -v 'a[$(x)]'`.
fn evaluates(name: &str, arguments: &[ShellWord]) -> bool {
    let text = |word: &ShellWord| {
        let (ShellWord::Literal(text) | ShellWord::Computed(text)) = word;
        text.clone()
    };
    let any = |part: &str| arguments.iter().any(|word| text(word).contains(part));
    match name {
        "jobs" => arguments.iter().any(|word| word.literal().is_none_or(|it| it.contains('x'))),
        "printf" => match arguments {
            [ShellWord::Literal(first), ..] => first.starts_with("-v"),
            [ShellWord::Computed(_), rest @ ..] => rest.iter().any(|it| text(it).contains('[')),
            [] => false,
        },
        "test" | "[" => any("[") || any("-v"),
        "export" | "getopts" | "local" | "read" | "readonly" | "unset" | "wait" => any("["),
        _ => false,
    }
}

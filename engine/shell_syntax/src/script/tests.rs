use engine::ports::{ShellPart, ShellSyntax as _, ShellWord};

use super::BashSyntax;

/// Returns the parts of a script in short: computed words are in angle brackets, wrappers in parentheses,
/// and `?` is undecidable.
fn parts(script: &str) -> String {
    let word = |word: &ShellWord| match word {
        ShellWord::Literal(text) => text.clone(),
        ShellWord::Computed(text) => format!("<{text}>"),
    };
    let line = |words: &[ShellWord]| words.iter().map(word).collect::<Vec<_>>().join(" ");
    let part = |part: &ShellPart| match part {
        ShellPart::Command { variables, words } => {
            let variables: String = variables.iter().map(|name| format!("{name}= ")).collect();
            format!("{variables}{}", line(words))
        }
        ShellPart::Wrapper(words) => format!("({})", line(words)),
        ShellPart::Assignment(name) => format!("{name}="),
        ShellPart::Input(target) => format!("<{}", word(target)),
        ShellPart::Output(target) => format!(">{}", word(target)),
        ShellPart::Stream => "&".to_owned(),
        ShellPart::Undecidable(_) => "?".to_owned(),
    };
    BashSyntax.parts(script).iter().map(part).collect::<Vec<_>>().join(" ; ")
}

fn all(rows: &[(&str, &str)]) {
    let wrong: Vec<_> = rows
        .iter()
        .map(|(script, expected)| (script, parts(script), expected))
        .filter(|(_, found, expected)| found != *expected)
        .map(|(script, found, expected)| format!("{script:?}: {found:?}, not {expected:?}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_simple_command_of_a_script_is_found() {
    all(&[
        ("", ""),
        ("ls", "ls"),
        ("  ls -l  'a b' ", "ls -l a b"),
        ("a && b || c; d & e\nf", "a ; b ; c ; d ; e ; f"),
        ("a | b | c", "a ; b ; c"),
        ("! a", "a"),
        ("(a; b)", "a ; b"),
        ("{ a; b; }", "a ; b"),
        ("if a; then b; elif c; then d; else e; fi", "a ; b ; c ; d ; e"),
        ("while a; do b; done", "a ; b"),
        ("for f in x y; do rm \"$f\"; done", "rm <\"$f\">"),
        ("case $x in a) b;; *) c;; esac", "b ; c"),
        ("f() { rm x; }; f", "rm x ; f"),
        ("echo a # rm x", "echo a"),
        ("# rm x\nls", "ls"),
        ("r\\m x", "rm x"),
        ("r''m x", "rm x"),
        ("\"rm\" x", "rm x"),
        ("r\\\nm x", "rm x"),
        ("rm \\\n  x", "rm x"),
        ("A=1 B=2 c d", "A= B= c d"),
        ("A=1", "A="),
        ("for PATH in a; do b; done", "PATH= ; b"),
        ("A=1; b", "A= ; b"),
        ("export A=1", "export A=1"),
        ("unset A", "unset A"),
    ]);
}

#[test]
fn the_commands_of_substitutions_are_parts_wherever_they_are() {
    all(&[
        ("echo $(rm x)", "echo <$(rm x)> ; rm x"),
        ("echo `rm x`", "echo <`rm x`> ; rm x"),
        ("echo \"a $(rm x) b\"", "echo <\"a $(rm x) b\"> ; rm x"),
        ("echo '$(rm x)'", "echo $(rm x)"),
        ("A=$(rm x)", "A= ; rm x"),
        ("A=$(rm x) b", "A= b ; rm x"),
        ("echo ${A:-$(rm x)}", "echo <${A:-$(rm x)}> ; rm x"),
        ("cat <(rm x)", "cat <<(rm x)> ; rm x"),
        ("for f in $(rm x); do a; done", "rm x ; a"),
        ("cat > $(rm x)", "><$(rm x)> ; cat ; rm x"),
        ("cat <<E\n$(rm x)\nE", "& ; cat ; rm x"),
        ("cat <<-E\n\ta\n\tE\nls", "& ; cat ; ls"),
        ("cat <<E\nE\nls", "& ; cat ; ls"),
        ("cat <<'E'\n`rm x`\nE", "& ; cat"),
        ("echo '`rm x`' \\`", "echo `rm x` `"),
        ("cat <<'E'\n$(rm x)\nE", "& ; cat"),
        ("cat <<E | sh -x y\na\nE", "& ; cat ; sh -x y"),
        ("echo $(echo $(rm x))", "echo <$(echo $(rm x))> ; echo <$(rm x)> ; rm x"),
    ]);
}

#[test]
fn redirections_are_parts_and_words_behind_them_are_arguments() {
    all(&[
        ("a > b", ">b ; a"),
        ("a >> 'b c'", ">b c ; a"),
        ("a 2> b", ">b ; a"),
        ("a > b c", ">b ; a c"),
        ("> b a", ">b ; a"),
        ("a < b", "<b ; a"),
        ("a > $b", "><$b> ; a"),
        ("a 2>&1", "& ; a"),
        ("a > /dev/null 2>&1", "& ; & ; a"),
        ("> b", ">b"),
        ("{ a; b; } > c", ">c ; a ; b"),
        ("a <<< b", "& ; a"),
    ]);
}

#[test]
fn commands_that_only_run_another_one_are_looked_through() {
    all(&[
        ("env rm x", "(env rm x) ; rm x"),
        ("env -u A B=1 rm x", "(env -u A B=1 rm x) ; B= rm x"),
        ("/usr/bin/env rm x", "(/usr/bin/env rm x) ; rm x"),
        ("env", "env"),
        ("env - A.b=1 rm x", "(env - A.b=1 rm x) ; A.b= rm x"),
        ("xargs --delimiter x rm", "(xargs --delimiter x rm) ; rm <…>"),
        ("timeout -k 5 10 rm x", "(timeout -k 5 10 rm x) ; rm x"),
        ("timeout --signal=KILL 10 rm x", "(timeout --signal=KILL 10 rm x) ; rm x"),
        ("nice rm x", "(nice rm x) ; rm x"),
        ("nice -n 5 rm x", "(nice -n 5 rm x) ; rm x"),
        ("nice -5 rm x", "(nice -5 rm x) ; rm x"),
        (
            "nohup nice timeout 5 rm x",
            "(nohup nice timeout 5 rm x) ; (nice timeout 5 rm x) ; (timeout 5 rm x) ; rm x",
        ),
        ("ls | xargs rm -f", "ls ; (xargs rm -f) ; rm -f <…>"),
        ("ls | xargs -I X cp X y", "ls ; (xargs -I X cp X y) ; cp <X> y"),
        ("ls | xargs", "ls ; xargs"),
        ("sh -c 'rm x; ls'", "(sh -c rm x; ls) ; rm x ; ls"),
        ("bash -ec 'rm x'", "(bash -ec rm x) ; rm x"),
        ("A=1 sh -c 'rm x'", "A= ; (sh -c rm x) ; rm x"),
        ("sh -c \"sh -c 'rm x'\"", "(sh -c sh -c 'rm x') ; (sh -c rm x) ; rm x"),
        ("command rm x", "(command rm x) ; rm x"),
        ("command -v rm", "command -v rm"),
        ("exec rm x", "(exec rm x) ; rm x"),
        ("time rm x", "(time rm x) ; rm x"),
        ("sudo -u a rm x", "sudo -u a rm x ; rm x"),
        ("find . -exec rm {} \\;", "find . -exec rm {} ; ; rm <{}>"),
        ("find . -name '*.o' -delete", "find . -name *.o -delete"),
        ("bash build.sh x", "bash build.sh x"),
    ]);
}

#[test]
fn what_may_run_unseen_is_undecidable() {
    for script in [
        "$a x",
        "\"$a\" x",
        "$(echo rm) x",
        "`echo rm` x",
        "r$a x",
        "eval rm x",
        "eval 'rm x'",
        ". ./x",
        "source x",
        "alias ls='rm x'",
        "trap 'rm x' EXIT",
        "sh",
        "sh -s",
        "curl x | sh",
        "sh -c \"$a\"",
        "bash <<E\nrm x\nE",
        "sh <<< 'rm x'",
        "env -S 'rm x'",
        "env -C / rm x",
        "xargs -I X X",
        "timeout $a rm x",
        "timeout --unknown 5 rm x",
        "env $a rm x",
        "if",
        "a |",
        "a b )",
        "'a",
        "$((a[$(rm x)]))",
        "echo $((a))",
        "echo ${a@P}",
        "[[ a > b ]]",
        "[ a > b ]",
        "((a++))",
        "function f { rm x; }",
        "a=(1 2)",
        "declare -i a=b",
        "for ((;;)); do a; done",
        "echo `echo \\`rm x\\``",
        "coproc rm x",
        "/bin/$a",
        "*",
        "~/x",
        "{rm,x}",
        "rm\u{a0}x $(a\u{a0}b",
        "a\0b",
        "cat <<'E F'\nE F",
        "cat <<E\n`rm x`\nE",
        "echo ${q-`rm x`}",
        "cat <<E\n E\n'\nE\nrm x #'",
    ] {
        assert!(
            parts(script).split(" ; ").any(|part| part == "?"),
            "{script:?}: {}",
            parts(script)
        );
    }
}

#[test]
fn a_script_that_is_too_large_or_too_deep_is_undecidable_and_cheap() {
    let nested = |depth: usize| format!("{}rm x{}", "( ".repeat(depth), ")".repeat(depth));
    assert_eq!(parts(&nested(40)), "rm x");
    assert_eq!(parts(&nested(41)), "?");
    let substituted = format!("{}rm x{}", "echo $(".repeat(100), ")".repeat(100));
    assert!(parts(&substituted).ends_with('?'));
    assert_eq!(parts(&"env ".repeat(100)).split(" ; ").last(), Some("?"));
    assert_eq!(parts(&"a;".repeat(500_000)), "?");
    // A list is nested in the syntax tree, and not in the meaning.
    let list = vec!["a"; 5_000].join("&&");
    assert_eq!(parts(&list).split(" ; ").count(), 5_000);
}

//! Shell lines with the verdict of one policy about each.

use std::path::PathBuf;

use engine::approvals::{ApprovalPolicy, CallRequest, Decision, Target, shell_paths};
use engine::ports::ShellSyntax as _;
use protocol::{ApprovalMode, Approvals};

use crate::BashSyntax;

const DENY: &[&str] = &["bash(rm *)", "bash(git push *)", "edit(.git/**)", "read(.env)"];
const ALLOW: &[&str] =
    &["bash(cargo test *)", "Bash(npm run:*)", "bash(echo *)", "bash(make)", "edit(docs/**)"];

/// Returns the verdict: `+` runs, `?` is asked about, `-` is refused.
fn decision_mark(mode: ApprovalMode, deny: &[&str], script: &str) -> char {
    let rules = |texts: &[&str]| texts.iter().map(|text| text.parse().expect("a rule")).collect();
    let mode = Some(mode);
    let approvals = Approvals { mode, deny: rules(deny), ask: Vec::new(), allow: rules(ALLOW) };
    let parts = BashSyntax.parts(script);
    let resolved = shell_paths(&parts).into_iter().map(str::to_owned).collect::<Vec<_>>();
    let request = CallRequest::exec("bash", parts, |path| {
        assert!(resolved.iter().any(|it| it == path), "{path} is resolved before");
        // `link` leads into `.git`, `out` out of the tree, from where it may come back.
        match path {
            _ if path.contains("..") || path.starts_with("out/") => Target::Unknown,
            _ if path.starts_with("/proc") => Target::Unknown,
            _ if path.starts_with('/') => Target::Outside,
            "link" => Target::Path(PathBuf::from(".git/config")),
            _ => Target::Path(PathBuf::from(path.trim_start_matches("./"))),
        }
    });
    match ApprovalPolicy::from(approvals).decide(&request) {
        Decision::Allow => '+',
        Decision::Ask(_) => '?',
        Decision::Deny(_) => '-',
    }
}

/// Lines with their verdict in the mode `ask`, and in the mode `yolo`.
const ROWS: &[(&str, &[&str])] = &[
    // Only reads.
    (
        "++",
        &[
            "ls",
            "ls -la src",
            "cat README.md",
            "cat ./README.md",
            "grep -rn x src | head -5",
            "wc -l a b",
            "ls && pwd",
            "cat 'a b'",
            "cat \"a b\"",
            "cat a\\ b",
            "true",
            "if true; then ls; fi",
            "( ls )",
            "ls; # rm x",
            "echo '$(rm x)'",
            "echo 'a > b'",
            "sort a | uniq -c",
            "tail -n 3 a",
            "! ls",
            "",
            "# nothing",
            "{ ls; pwd; }",
        ],
    ),
    // Allowed by rules, alone and with reads.
    (
        "++",
        &[
            "cargo test",
            "cargo test -p a -- --nocapture",
            "cargo test | grep x",
            "npm run build",
            "npm run",
            "make",
            "cargo test && make",
            "cargo test; npm run x",
            "timeout 60 cargo test",
            "env RUST_LOG=debug cargo test",
            "RUST_BACKTRACE=1 cargo test",
            "CI=1; cargo test",
            "nice -n 5 cargo test",
            "sh -c 'cargo test'",
            "bash -ec 'cargo test && make'",
            "cargo test 2>&1 | tail -n 5",
            "cargo test >/dev/null 2>&1",
            "echo hi",
            "echo a > docs/a",
            "echo a >> docs/b/c",
            "echo $HOME",
            "echo *",
            "cargo test < input",
            "command cargo test",
            "for i in 1 2; do cargo test; done",
            "c\\argo test",
            "'cargo' te\"\"st",
            "cargo \\\n test",
            "f() { make; }; cargo test",
            "cargo test & make",
        ],
    ),
    // Not covered by any rule: asked about, and run without a mode that asks.
    (
        "?+",
        &[
            "cargo build",
            "cargo testing",
            "npm install",
            "make all",
            "git status",
            "python -c 'x'",
            "cargo test && cargo build",
            "ls > out.txt",
            "echo a > src/a",
            "ls 2>/dev/null",
            "cat ../x",
            "cat /etc/passwd",
            "cat out/x",
            "ls -L",
            "PATH=/tmp cargo test",
            "LD_PRELOAD=x cargo test",
            "PATH=/tmp; cargo test",
            "export PATH=/tmp; cargo test",
            "/tmp/cargo test",
            "./cargo test",
            "cd /tmp && cargo build",
            "cd / && cat README.md",
            "echo a > /docs/a",
            "sudo cargo test",
            "find . -name x",
            "cat a | tee b",
            "FOO=1 ls",
            "bash build.sh",
            "[ -f a ]",
            "echo <<'E'\nrm x\nE\n",
            "sed -i s/a/b/ c",
            "kill 1",
            "cat < /etc/passwd",
            "diff d1 d2",
            "for PATH in ./evil; do cat README.md; done",
            "for LD_PRELOAD in ./x; do cargo test; done",
            "cat <<'E'\n`rm x`\nE\n",
            "cat <<\"E\"\n`rm x` $(rm x)\nE\n",
            "A=\"$(cat <<'E'\nit's `x`\nE\n)\" # a",
            "cat <<-E\n\ta\n\tE\n",
            "git -C . status",
            "env A=1 B.c=2 ls x",
            "cp a b",
            "printf '[%s]\\n' a",
            "awk '{print}' a",
        ],
    ),
    // Denied in a part, however it is written.
    (
        "--",
        &[
            "rm x",
            "rm -rf /",
            "rm",
            "/bin/rm x",
            "r\\m x",
            "r''m x",
            "\"rm\" x",
            "'r'm x",
            "r\\\nm x",
            "ls; rm x",
            "ls && rm x",
            "ls || rm x",
            "ls | rm x",
            "ls & rm x",
            "ls\nrm x",
            "(rm x)",
            "{ rm x; }",
            "if rm x; then ls; fi",
            "if ls; then rm x; fi",
            "while rm x; do ls; done",
            "for i in 1; do rm x; done",
            "case a in a) rm x;; esac",
            "f() { rm x; }",
            "f() { rm x; }; f",
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"$(rm x)\"",
            "A=$(rm x)",
            "echo ${A:-$(rm x)}",
            "cat <(rm x)",
            "cat <<E\n$(rm x)\nE\n",
            "cat <<E | rm x\na\nE\n",
            "A=1 rm x",
            "! rm x",
            "env rm x",
            "env -i A=1 rm x",
            "timeout 5 rm x",
            "nohup rm x",
            "nice rm x",
            "exec rm x",
            "command rm x",
            "builtin rm x",
            "time rm x",
            "ls | xargs rm",
            "ls | xargs -n 1 rm -f",
            "find . -exec rm {} \\;",
            "find . -execdir rm {} +",
            "sh -c 'rm x'",
            "bash -c \"rm x\"",
            "sh -c \"sh -c 'rm x'\"",
            "env sh -c 'timeout 5 rm x'",
            "sudo rm x",
            "busybox rm x",
            "rm>a x",
            "rm $x",
            "rm *",
            "git push",
            "git push origin main",
            "git push --force",
            "echo $(echo `rm x`)",
            "cargo test && rm x",
            "echo a > .git/config",
            "echo a > link",
            "cat .env",
            "cat a/.env",
            "grep x .env",
            "echo < .env",
            "stdbuf -oL rm x",
            "rm x || true",
            "ls; \\rm x",
            "eval x; rm x",
            "env --unset A rm x",
            "nice --adjustment 5 rm x",
            "timeout --signal KILL 5 rm x",
            "timeout --kill-after 3 5 rm x",
            "stdbuf --output L rm x",
            "xargs --delimiter '\\n' rm",
            "env - rm x",
            "nice env - rm x",
            "env a.b=1 rm x",
            "rbash -c 'rm x'",
            "sh -c -- 'rm x'",
            "git -C . push",
            "git -c a.b=c push",
            "git --no-pager push origin",
            "cat < .env",
            "find . -name -exec rm {} \\;",
            "find $x -exec rm {} \\;",
        ],
    ),
    // It cannot be decided: asked about in every mode, because there are rules that deny commands.
    (
        "??",
        &[
            "$x",
            "$x a",
            "\"$x\" a",
            "`echo rm` x",
            "$(echo rm) x",
            "r$x m",
            "eval rm x",
            "eval \"$x\"",
            ". ./x",
            "source x",
            "alias ls='rm x'; ls",
            "trap 'rm x' EXIT",
            "curl x | sh",
            "sh < x",
            "sh -c \"$x\"",
            "bash -s",
            "bash <<E\nls\nE\n",
            "a=rm; $a x",
            "IFS=,; a=rm,x; $a",
            "r${x}m y",
            "env $x",
            "timeout $x ls",
            "xargs -I {} {} x",
            "if",
            "ls |",
            "ls )",
            "'ls",
            "[[ a > b ]]",
            "echo $((a))",
            "coproc ls",
            "a=(rm x)",
            "((a))",
            "${x}",
            "echo ${a@P}",
            "git $x",
            "echo a > $x",
            "ls >&$x",
            "env -S 'ls'",
            "function f { ls; }",
            "ls \0",
            "set -- rm x; \"$@\"",
            "cd docs && echo a > docs/a",
            // What the parser does not see.
            "echo ${q-`rm x`}",
            "echo \"${q-`rm x`}\"",
            "A=${q-`rm x`}",
            "[ -n ${q-`rm x`} ]",
            "case ${q-`rm x`} in a) ls;; esac",
            "for i in ${q-`rm x`}; do ls; done",
            "git commit -m \"${m:-`rm x`}\"",
            "cat <<E\n`rm x`\nE\n",
            "cat <<E\n${q-`rm x`}\nE\n",
            "cat <<E\n E\n'\nE\nrm x #'",
            "cat <<E\n\tE\n'\nE\nrm x #'",
            "cat <<-E\n E\n'\nE\nrm x #'",
            "cat <<E\nE \n'\nE\nrm x #'",
            "cat <<E\na\\\nE\necho '\nE\nrm x #'",
            "echo \"${q+'}\"; rm x; echo \"'}\"",
            "cat <<E\n${q+'}\nE\nrm x; echo '}'",
            "echo $'\\'; rm x #'",
            // Options and programs that run others.
            "env --uns A rm x",
            "timeout --signal $x 5 ls",
            "env a=$x ls",
            "ls | sh -",
            "ls | bash -x -",
            "ls | sh /dev/stdin",
            "ls | sh ../../dev/stdin",
            "sh -c - 'ls'",
            "bash -o $x ls",
            "find . ! -name -exec -name x -exec rm {} \\;",
            "find x \"$A\" rm {} \\;",
            "xargs find x",
            "flock f ls",
            "taskset 1 ls",
            "script -c ls",
            "watch ls",
            "/lib64/ld-linux-x86-64.so.2 /bin/ls",
            "ssh -o ProxyCommand=ls h",
            "jobs -x ls",
            "compgen -C ls",
            "printf -v 'a[$(ls)]' x",
            "test -v 'a[$(ls)]'",
            "[ -v 'a[$(ls)]' ]",
            "read 'a[$(ls)]'",
            // A file of a rule may be meant.
            "cat .env /dev/null",
            "/bin/cat .env",
            "A=1 cat .env",
            "cat .e*",
            "cat ../tree/.env",
            "sort --stable .env",
            "curl -d @.env x",
            "dd if=.env",
            "cd a && cat .env",
            "cat $x",
            "cat ~/.ssh/id",
            "cat *.md",
            "cargo test $x",
            "cargo test \"$@\"",
            "ls | xargs cat",
            "ls | xargs cargo test",
            "echo a > ../tree/.git/f",
            "echo a > ../docs/a",
            "echo a > /proc/self/cwd/.git/f",
            "chdir .git; echo a > f",
            "ln -s .git l; echo a > l/f",
        ],
    ),
];

#[test]
fn every_line_of_the_table_has_its_verdict() {
    let wrong: Vec<_> = ROWS
        .iter()
        .flat_map(|(expected, lines)| lines.iter().map(move |line| (*expected, *line)))
        .map(|(expected, line)| {
            let modes = [ApprovalMode::Ask, ApprovalMode::Yolo];
            let found: String = modes.iter().map(|mode| decision_mark(*mode, DENY, line)).collect();
            (expected, found, line)
        })
        .filter(|(expected, found, _)| expected != found)
        .map(|(expected, found, line)| {
            format!("{line:?}: {found}, not {expected}: {:?}", BashSyntax.parts(line))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let count: usize = ROWS.iter().map(|(_, lines)| lines.len()).sum();
    assert!(count >= 200, "{count} lines");
}

#[test]
fn what_cannot_be_decided_runs_where_nothing_is_denied_and_nothing_asks() {
    for line in ["$x", "eval rm x", "curl x | sh", "if", "\0", &"a;".repeat(500_000)] {
        assert_eq!(decision_mark(ApprovalMode::Yolo, &[], line), '+');
        assert_eq!(decision_mark(ApprovalMode::Yolo, &["grep"], line), '+');
        for mode in [ApprovalMode::Ask, ApprovalMode::Write] {
            assert_eq!(decision_mark(mode, &[], line), '?');
        }
        for rule in ["bash(rm *)", "edit(docs)", "read(.env)"] {
            assert_eq!(decision_mark(ApprovalMode::Yolo, &[rule], line), '?', "{rule}");
        }
        assert_eq!(decision_mark(ApprovalMode::Yolo, &["bash"], line), '-');
    }
}

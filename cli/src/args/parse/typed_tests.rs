//! Command lines that people type who know other programs: each is refused before anything begins, and
//! its first hint is what does the same here.

use protocol::ExitCode;

use super::tests::read;

/// What is typed after `regatta`, and the beginning of the first hint.
const TYPED: &str = "
appply @ blue | regatta apply
aply | regatta apply
conflict | regatta conflicts
diffs | regatta diff
discrad r1 | regatta discard
gates? | regatta gates
helpp | regatta help
lgos | regatta logs
loginn | regatta login
modles | regatta models
result r1 | regatta results
rnu fix it | regatta run
rusns | regatta runs
undoo | regatta undo
init | nothing: regatta works in any git repository
exec ls | regatta -p PROMPT, or regatta run --exec CMD
sessions | regatta --resume
session list | regatta --resume
settings | $XDG_CONFIG_HOME/regatta/config.yml
upgrade | cargo install
install | cargo install
export | regatta logs SESSION
import file.json | regatta --resume FILE
auth | regatta login
auth login | regatta login
setup-token | regatta login
chat | regatta
code . | regatta
continue | regatta --continue
tail | regatta logs RUN --follow
tail r1 | regatta logs RUN --follow
watch | regatta logs RUN --follow
pause | Ctrl-Z
stop r1 | Ctrl-C
kill r1 | Ctrl-C
cancel | Ctrl-C
abort | Ctrl-C
debug | regatta logs RUN/TASK
status | regatta runs
ps | regatta runs
ls | regatta runs
list | regatta runs
jobs | regatta runs
history | regatta runs
log r1 | regatta logs RUN/TASK
merge r1 | regatta apply RUN
land | regatta apply RUN
pull | regatta apply RUN
pop | regatta apply RUN/TASK
patch r1 | regatta diff RUN/TASK
checkout r1/t1 | regatta diff RUN/TASK
rm r1 | regatta discard RUN/TASK
remove r1 | regatta discard RUN/TASK
delete r1 | regatta discard RUN/TASK
revert r1 | regatta undo RUN
rollback | regatta undo RUN
restore | regatta undo RUN
clean | regatta gc
retry r1 | regatta runs retry RUN
restart | regatta runs retry RUN
test | regatta run --exec CMD
build | regatta run --exec 'make'
eval | regatta run --exec CMD
review | regatta -p 'review the changes'
fix the tests | regatta run 'fix what fails'
plan plan.toml | regatta run --plan FILE
recipe | regatta run --plan FILE
worktree | nothing
sandbox ls | regatta run --exec CMD
provider | regatta models
providers list | regatta models
model list | regatta models
whoami | regatta models
usage | regatta runs show RUN
cost | regatta runs show RUN
version | regatta --version
tools | regatta --tools
tui | regatta
greetings | regatta -p greetings, which asks a model
greetings all | regatta 'greetings all', which asks a model
https://example.com/issue/1 | regatta -p
resume | regatta runs retry RUN --cancelled
resume r1 | regatta runs retry RUN --cancelled
config | $XDG_CONFIG_HOME/regatta/config.yml
config set a b | $XDG_CONFIG_HOME/regatta/config.yml
doctor | regatta run --dry-run
mcp add x | a program of the server
agents | regatta run --model
update | cargo install
serve | regatta run --json
acp | regatta -p --mode json
stats | regatta runs show RUN
attach r1 | regatta logs RUN --follow
shell | regatta, with !COMMAND
plugin install x | a program
commit | regatta run --merge stack
runs cancel r1 | Ctrl-C
runs report | regatta runs show RUN
run -P 4 a | --jobs N
run -P4 a | --jobs N
run -n 4 a | --jobs N
run --parallel 4 a | --jobs N
run --parallel=4 a | --jobs N
run --concurrency 4 a | --jobs N
run --workers 4 a | --jobs N
run --max-procs=4 a | --jobs N
run --timeout 60 a | --limit wall=20m
run --max-turns 3 a | --limit turns=40
run --max-budget-usd 3 a | --limit cost=2.00USD
run --yolo a | leave it out
run --full-auto a | leave it out
run -y a | leave it out
run --output-format json a | --json
run -o json a | --json
run --cwd /x a | --repo DIR
run -C /x a | --repo DIR
run --env A=1 a | --pass-env NAME
run -e A a | --pass-env NAME
run --watch a | regatta logs RUN --follow
run --background a | regatta run … &
run -k a | leave it out
run --keep-going a | leave it out
run --bail a | --fail-fast
run -0 a | --null
run -I{} a | {{item}}
run -L 3 a | --chunk N
run -a items a | --each @FILE
run -f plan.toml | --plan FILE
run -c ls | --exec CMD
run -p a | TASK, without an option
run --prompt a | TASK, without an option
run --branch x a | --merge branch
run --worktree a | leave it out
run --commit a | --merge stack
run --retries 3 a | regatta runs retry RUN
run --effort high a | --model MODEL:high
run --config x a | $XDG_CONFIG_HOME/regatta/config.yml
run --no-color a | --color never
run --debug a | -v
-P 4 a | regatta run --jobs N
--timeout 60 a | timeout 20m regatta -p
--yolo a | leave it out
--dangerously-skip-permissions a | leave it out
-p --permission-mode plan a | leave it out
-p --output-format json a | --mode json
-p --max-turns 3 a | regatta run --limit turns=40
-p --allowedTools Read a | --tools read,write
--cwd /x a | --repo DIR
--add-dir /x a | leave it out
--env A=1 a | NAME=VALUE regatta
--background a | regatta -p PROMPT &
-i a.png b | @FILE
--effort high a | --thinking LEVEL
--session-id x a | --resume ID
--last | --continue
--ephemeral a | --no-session
--mcp-config x a | leave it out
--settings x a | $XDG_CONFIG_HOME/regatta/config.yml
--oss a | --model ollama/MODEL
--no-tui a | -p
--prompt a | -p PROMPT
runs --cwd /x | --repo DIR
apply --debug r1 | -v
runs --no-color | --color never
";

#[test]
fn what_other_programs_take_is_refused_with_what_does_the_same_here() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for line in TYPED.lines().filter(|line| !line.is_empty()) {
        let (typed, instead) = line.split_once(" | ").expect("a row has two parts");
        let words: Vec<_> = typed.split(' ').collect();
        let error = read(&words).expect_err(typed);
        assert_eq!(error.exit, ExitCode::NotStarted, "{typed}: {error}");
        let said = error.to_string();
        let hint = said.split("\n  try: ").nth(1).unwrap_or_default();
        if !hint.starts_with(instead) {
            wrong.push(format!("{typed}: {said}"));
        }
        seen += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen >= 120, "{seen} lines");
}

#[test]
fn one_word_is_a_prompt_behind_two_dashes_with_an_option_for_it_or_with_a_file() {
    for words in [
        &["-p", "hello"][..],
        &["--", "hello"],
        &["--", "init"],
        &["--mode", "json", "apply"],
        &["init the project"],
        &["@file"],
        &["@file", "explain"],
        &["修复失败的测试"],
    ] {
        assert!(read(words).is_ok(), "{words:?}");
    }
}

//! Command lines that people type who know other programs: each is refused before anything begins, and
//! its first hint is what does the same here.

use protocol::ExitCode;

use super::tests::read;

/// What is typed after `regatta`, with quotes as in a shell, and the beginning of the first hint.
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
run test | regatta run --exec CMD
run list | regatta runs
run help | regatta run --help
run runs | regatta runs
run show | regatta show
run rnus | regatta runs
run agents | regatta run --model MODEL
run @ | regatta runs show @
run @/foo | regatta runs show @/foo
run - | regatta run --each -
run Cargo.toml | regatta run --plan Cargo.toml
run gone.toml | regatta run -- gone.toml, which asks a model
run greetings | regatta run -- greetings, which asks a model
run docs=list | regatta runs
run --model a/b test | regatta run --exec CMD
run build lint | regatta run 'build lint'
run fix the tests | regatta run 'fix the tests'
run a=fix b=test | regatta run 'fix test'
run 'fix it' test | regatta run --exec CMD
plan.toml | regatta -p plan.toml, which asks a model
Cargo.toml | regatta run --plan Cargo.toml
@ | regatta runs show @
--mode text appply @ blue | regatta apply
--mode json exec | regatta -p PROMPT
--json exec | regatta -p PROMPT
exec -p 'fix the tests' | regatta -p PROMPT
claude -p hello | regatta -p PROMPT
codex -p 'fix it' | regatta -p PROMPT
rnu -p 'fix it' | regatta run
-p explain the build | regatta -p 'explain the build'
--print explain the build | regatta -p 'explain the build'
--mode json -p explain @a it | regatta -p 'explain @a it'
run --agent claude 'fix it' | --exec 'claude -p {{item}}'
run --agent codex 'fix it' | --exec 'codex exec --sandbox workspace-write {{item}}'
run --agent opencode 'fix it' | --exec 'opencode run {{item}}'
run --agent pi 'fix it' | --exec 'pi -p -ne {{item}}'
run --agent gemini 'fix it' | --exec 'gemini -p {{item}}'
run --agent explore 'fix it' | --exec 'PROGRAM {{item}}'
--agent claude 'fix it' | regatta run --exec 'claude -p {{item}}'
run --exec a --limit memory=1GB | --exec 'ulimit -v
run --exec a --limit processes=3 | leave it out
runs retry @ --timeout 3s | --limit wall=20m
runs retry @ -P 3 | --jobs N
runs retry @ --parallel 3 | --jobs N
runs retry @ --yolo | leave it out
--exec make | regatta run --exec CMD
--each *.rs 'fix it' | regatta run --each SPEC
--plan p.toml | regatta run --plan FILE
--jobs 3 'fix it' | regatta run --jobs N
-j 3 'fix it' | regatta run --jobs N
--merge none 'fix it' | regatta run --merge MODE
-m none 'fix it' | regatta run --merge MODE
--limit wall=3m 'fix it' | regatta run --limit NAME=VALUE
--schema s.json 'fix it' | regatta run --schema FILE
--label x 'fix it' | regatta run --label TEXT
--jsob 3 'fix it' | regatta run --jobs N
runs -n 3 | regatta runs list -n N
logs @ --tail 3 | regatta logs RUN | tail
apply @ --force | --theirs
undo @ --hard | leave it out
diff @ --name-only | --stat
gc --all | --older-than 1s
discard @ --force | leave it out
runs --allowed-tools x | leave it out
run --mode json 'fix it' | regatta --mode MODE
run --fork x 'fix it' | regatta --fork ID|FILE
run --jsob 3 'fix it' | --jobs N
run --allowed-tools Read 'fix it' | leave it out
run --search 'fix it' | leave it out
run --message 'fix it' | TASK, without an option
run --shell ls | --exec CMD
run --thinking high 'fix it' | --model MODEL:high
run --output-schema s.json 'fix it' | --schema FILE
run --skip-git-repo-check 'fix it' | git init
run --system-prompt x 'fix it' | say it in each TASK
run --resume x | regatta runs retry RUN --cancelled
run --continue | regatta runs retry RUN --cancelled
run --tools read 'fix it' | leave it out
run --provider openai 'fix it' | --model PROVIDER/ID
run -ne 'fix it' | regatta run --help
run --frobnicate 'fix it' | regatta run --help
run -m gpt-5 'fix it' | --model gpt-5
--output-schema s.json 'fix it' | regatta run --schema FILE
--message 'fix it' | -p PROMPT
--search 'fix it' | leave it out
--shell | regatta, with !COMMAND
exit | Ctrl-C
quit | Ctrl-C
top | regatta runs show @
push | git push
fetch | git fetch
reset --hard | regatta undo RUN
rebase main | git rebase
skills | AGENTS.md
hooks | regatta run --setup
features | regatta help
plugins | a program
wait r1 | regatta logs RUN --follow
git status | git …
cargo test | regatta run --exec 'cargo …'
npm test | regatta run --exec 'npm …'
codex exec 'fix it' | regatta -p PROMPT
claude 'fix it' | regatta -p PROMPT
redo | regatta apply @ --again
prune | regatta gc
make test | regatta run --exec 'make'
checkout -b foo | regatta diff RUN/TASK
status -s | regatta runs
ls -la | regatta runs
log --oneline | regatta logs RUN/TASK
tail -n 5 | regatta logs RUN --follow
greetings -x | regatta -p greetings
";

/// Returns the words of a line. Each other part between quotes is one word.
fn words_of(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

#[test]
fn what_other_programs_take_is_refused_with_what_does_the_same_here() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for line in TYPED.lines().filter(|line| !line.is_empty()) {
        let (typed, instead) = line.split_once(" | ").expect("a row has two parts");
        let words = words_of(typed);
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
    assert!(seen >= 220, "{seen} lines");
}

#[test]
fn one_word_is_a_prompt_behind_two_dashes_with_p_with_a_file_or_as_an_item() {
    for words in [
        &["-p", "hello"][..],
        &["--", "hello"],
        &["--", "init"],
        &["-p", "runs"],
        &["-p", "hello", "explain the build"],
        &["-p", "--", "explain", "it"],
        &["-p", "explain", "@file"],
        &["--", "launch"],
        &["--mode", "json", "fix it"],
        &["run", "fix the tests"],
        &["run", "--", "test"],
        &["run", "--", "run"],
        &["run", "docs=fix the docs", "lint the code"],
        &["run", "--exec", "echo {{item}}", "test", "lint"],
        &["run", "--each", "*.rs", "test"],
        &["run", "修复失败的测试"],
        &["init the project"],
        &["@file"],
        &["@file", "explain"],
        &["修复失败的测试"],
    ] {
        assert!(read(words).is_ok(), "{words:?}");
    }
}

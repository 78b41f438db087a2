//! Command lines that people type who know other programs: each is refused before anything begins, and
//! its first hint is what does the same here.

use protocol::ExitCode;

use super::tests::read;

/// What is typed after `regatta`, with quotes as in a shell, and the beginning of the first hint.
const TYPED: &str = "
appply @ blue | regatta apply @ blue
conflict | regatta conflicts
diffs | regatta diff
discrad r1 | regatta discard r1
gates? | regatta gates
helpp | regatta help
lgos | regatta logs
loginn | regatta login
modles | regatta models
result r1 | regatta results r1
rnu fix it | regatta run
rusns | regatta runs
undoo --dry-run @ | regatta undo --dry-run @
aply --dry-run --kept @ | regatta apply --dry-run --kept @
gcc --dry-run | regatta gc --dry-run
exec ls | regatta -p ls, or regatta run --exec ls
sessions | regatta --resume
session list | regatta --resume
settings | $XDG_CONFIG_HOME/regatta/config.yml
upgrade | cargo install
install | cargo install
export | regatta logs SESSION
import file.json | regatta --resume file.json
auth | regatta login
auth login | regatta login
setup-token | regatta login
chat | regatta
code . | regatta
continue | regatta --continue
tail | regatta logs RUN --follow
tail r1 | regatta logs r1 --follow
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
log r1 | regatta logs r1
merge r1 | regatta apply r1
land | regatta apply RUN
pull | regatta apply RUN
pop | regatta apply RUN/TASK
patch r1 | regatta diff r1
checkout r1/t1 | regatta diff r1/t1, then regatta apply r1/t1
rm r1 | regatta discard r1
remove r1 | regatta discard r1
delete r1 | regatta discard r1
revert r1 | regatta undo r1
rollback | regatta undo RUN
restore | regatta undo RUN
clean | regatta gc
retry r1 | regatta runs retry r1
restart | regatta runs retry RUN
test | regatta run --exec CMD
build | regatta run --exec 'make'
eval | regatta run --exec CMD
review | regatta -p 'review the changes'
fix the tests | regatta run 'fix what fails'
plan plan.toml | regatta run --plan plan.toml
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
run -P 4 a | --jobs 4
run -P4 a | --jobs 4
run -n 4 a | --jobs 4
run --parallel 4 a | --jobs 4
run --parallel=4 a | --jobs 4
run --concurrency 4 a | --jobs 4
run --workers 4 a | --jobs 4
run --max-procs=4 a | --jobs 4
run --timeout 60 a | --limit wall=60
run --max-turns 3 a | --limit turns=3
run --max-budget-usd 3 a | --limit cost=3USD
run --yolo a | leave it out
run --full-auto a | leave it out
run -y a | leave it out
run --output-format json a | --json
run -o json a | --json
run --cwd /x a | --repo /x
run -C /x a | --repo /x
run --env A=b a | --pass-env A, with A=b before regatta
run --env=A=b a | --pass-env A, with A=b before regatta
run -e A a | --pass-env A, with A=VALUE
run --watch a | regatta logs RUN --follow
run --background a | regatta run … &
run -k a | leave it out
run --keep-going a | leave it out
run --bail a | --fail-fast
run -0 a | --null
run -I{} a | {{item}}
run -L 3 a | --chunk 3
run -a items a | --each @items
run -f plan.toml | --plan plan.toml
run -c ls | --exec ls
run -p a | TASK, without an option
run --prompt a | TASK, without an option
run --branch x a | --merge branch, or --onto x
run --worktree a | leave it out
run --commit a | --merge stack
run --retries 3 a | regatta runs retry RUN
run --effort low a | --model MODEL:low
run --config x a | $XDG_CONFIG_HOME/regatta/config.yml
run --no-color a | --color never
run --debug a | -v
-P 4 a | regatta run --jobs 4
--timeout 60 a | timeout 60 regatta -p
--yolo a | leave it out
--dangerously-skip-permissions a | leave it out
-p --permission-mode plan a | leave it out
-p --output-format json a | --mode json
-p --max-turns 3 a | regatta run --limit turns=3
-p --allowedTools Read a | --tools read,write
--cwd /x a | --repo /x
--add-dir /x a | leave it out
--env A=b a | A=b regatta
--env 'A_KEY=b' a | A_KEY=VALUE regatta
--background a | regatta -p PROMPT &
-i a.png b | @a.png
--effort high a | --thinking high
--session-id x a | --resume x
--last | --continue
--ephemeral a | --no-session
--mcp-config x a | leave it out
--settings x a | $XDG_CONFIG_HOME/regatta/config.yml
--oss a | --model ollama/MODEL
--no-tui a | -p
--prompt a | -p a
runs --cwd /x | --repo /x
apply --debug r1 | -v
runs --no-color | --color never
run test | regatta run --exec CMD
run list | regatta runs list
run help | regatta run --help
run runs | regatta runs
run show | regatta runs show
run rnus | regatta runs
run agents | regatta run --model MODEL
run @ | regatta runs show @
run @/foo | regatta runs show @/foo
run - | regatta run --each -
run Cargo.toml | regatta run --exec 'cargo test'
run gone.toml | regatta run -- gone.toml, which asks a model
run greetings | regatta run -- greetings, which asks a model
run docs=list | regatta runs list
run --model a/b test | regatta run --exec CMD
run build lint | regatta run 'build lint'
run fix the tests | regatta run 'fix the tests'
run a=fix b=test | regatta run 'fix test'
run 'fix it' test | regatta run --exec CMD
plan.toml | regatta -p plan.toml, which asks a model
Cargo.toml | regatta run --exec 'cargo test'
@ | regatta runs show @
--mode text appply @ blue | regatta apply @ blue
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
runs retry @ --timeout 3s | --limit wall=3s
runs retry @ -P 3 | --jobs 3
runs retry @ --parallel 3 | --jobs 3
runs retry @ --yolo | leave it out
--exec make | regatta run --exec make
--each *.rs 'fix it' | regatta run --each '*.rs'
--plan p.toml | regatta run --plan p.toml
--jobs 3 'fix it' | regatta run --jobs 3
-j 3 'fix it' | regatta run --jobs 3
--merge none 'fix it' | regatta run --merge none
-m none 'fix it' | regatta run --merge none
-m sonnet | --model sonnet
-m sonnet 'fix it' | --model sonnet
--limit wall=3m 'fix it' | regatta run --limit 'wall=3m'
--schema s.json 'fix it' | regatta run --schema s.json
--label x 'fix it' | regatta run --label x
--jsob 3 'fix it' | regatta run --jobs 3
runs -n 3 | regatta runs list -n 3
logs @ --tail 3 | regatta logs RUN
apply @ --force | --theirs
undo @ --hard | leave it out
diff @ --name-only | --stat
gc --all | leave it out
gc --force | leave it out
gc -f | leave it out
gc --prune | leave it out
gc -n | --dry-run
discard @ --force | leave it out
runs --allowed-tools x | leave it out
run --mode json 'fix it' | regatta --mode json
run --fork x 'fix it' | regatta --fork x
run --jsob 3 'fix it' | --jobs 3
run --allowed-tools Read 'fix it' | leave it out
run --search 'fix it' | leave it out
run --message 'fix it' | TASK, without an option
run --shell ls | --exec ls
run --thinking low 'fix it' | --model MODEL:low
run --output-schema s.json 'fix it' | --schema s.json
run --skip-git-repo-check 'fix it' | git init
run --system-prompt x 'fix it' | say it in each TASK
run --resume x | regatta runs retry RUN --cancelled
run --continue | regatta runs retry RUN --cancelled
run --tools read 'fix it' | leave it out
run --provider openai 'fix it' | --model openai/ID
run -ne 'fix it' | regatta run --help
run --frobnicate 'fix it' | regatta run --help
run -m gpt-5 'fix it' | --model gpt-5
--output-schema s.json 'fix it' | regatta run --schema s.json
--message 'fix it' | -p 'fix it'
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
wait r1 | regatta logs r1 --follow
git status | git status, without regatta
cargo test --all | regatta run --exec 'cargo test --all'
npm test | regatta run --exec 'npm test'
codex exec 'fix it' | regatta -p PROMPT
claude 'fix it' | regatta -p PROMPT
redo | regatta apply @ --again
prune | regatta gc
make test -j4 | regatta run --exec 'make test -j4'
make test | regatta run --exec 'make test'
make | regatta run --exec make
pytest -x | regatta run --exec 'pytest -x'
checkout -b foo | regatta diff RUN/TASK
status -s | regatta runs
ls -la | regatta runs
log --oneline | regatta logs RUN/TASK
tail -n 5 | regatta logs RUN --follow
greetings -x | regatta -p greetings
run retry @ | regatta runs retry @
run retry r7k3f/auth | regatta runs retry r7k3f/auth
run show @ | regatta runs show @
run diff @ | regatta diff @
run rm r7k3f | regatta discard r7k3f
run retry the tests | regatta run 'retry the tests'
run tests | regatta run -- tests
run src | regatta run --each 'src/**'
run src/lib.rs | regatta run --each src/lib.rs
runs retry r7k3f -n 3 | --jobs 3
rerun | regatta runs retry RUN
rerun @ | regatta runs retry @
r7k3f | regatta runs show r7k3f
r7k3f/auth | regatta runs show r7k3f/auth
runs r7k3f | regatta runs show r7k3f
runs @ | regatta runs show @
runs rm r7k3f | regatta discard r7k3f
runs prune | regatta gc
runs redo @ | regatta runs retry @
runs rerun @ | regatta runs retry @
runs shwo @ | regatta runs show @
runs diff @ | regatta diff @
runs ls | regatta runs
runs sail | regatta runs list
runs --all | regatta runs list -n 1000
runs -a | regatta runs list -n 1000
runs list --all | -n 1000
runs --limit 5 | regatta runs list -n 5
runs --limit=5 | regatta runs list -n 5
runs show @ --watch | regatta logs RUN --follow
logs @ --watch | --follow
apply --merge branch | --branch NAME
apply @ --onto main | --branch NAME
apply @ --all | --kept
apply @ --commit | git commit
apply @ -n | --dry-run
diff --patch | leave it out: it prints a patch
diff @ -p | leave it out: it prints a patch
diff @ -u | leave it out: it prints a patch
run --files *.rs 'fix it' | --each '*.rs'
run --foreach *.rs 'fix it' | --each '*.rs'
run --tasks t.toml | --plan t.toml, or --each @t.toml
--files *.rs 'fix it' | regatta run --each '*.rs'
@/red | regatta runs show @/red
@/red blue | regatta runs show @/red
drop r1 | regatta discard r1
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

use std::sync::{Arc, LazyLock, Mutex};

use protocol::{
    AssistantMessage, CaptureRef, Captured, ChangeSummary, Conflict, ConflictReason, Cost,
    EventScope, ExitCode, Failure, FailureClass, IsolationMode, MergeMode, Message, Outcome, Part,
    Phase, RepoPath, Rescue, RescueLocation, SessionEvent, StopReason, TaskName, TaskReport,
    ToolCall, Totals, Usage, WorkspaceNeeds,
};

use super::super::line_wrap::too_long;
use super::super::live_notes::LiveNote;
use super::super::terminal::{ColorEnv, OutputOptions, Size, TermCapability, Terminal};
use super::super::test_terminal::{SIZE, TestTerminal, run_started};
use super::*;
use crate::args::{Globals, ProgressStyle};

/// A sink that can be read while it is written.
#[derive(Clone, Debug, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Sink {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The events of a run of three tasks: one lands, one conflicts with it, one fails.
fn events() -> Vec<Event> {
    let task = |name: &str| name.parse::<TaskName>().unwrap();
    let report = |name: &str, outcome| {
        let changes = ChangeSummary { files: 3, added: 41, removed: 7 };
        let capture = CaptureRef::of(&"r7k3f".parse().unwrap(), &task(name), 1);
        Box::new(TaskReport {
            outcome,
            captured: Some(Captured::whole(capture, changes)),
            ms: 31_000,
            setup_ms: None,
            usage: None,
            fallbacks: Vec::new(),
            turns: None,
            reached_limit: None,
            refused_calls: 0,
            timings: None,
        })
    };
    let done = || Outcome::Done { value: serde_json::Value::Null };
    let failure =
        Failure::new(FailureClass::Command, "it ended with code 1\u{202e}\n\u{1b}]0;x\u{7}");
    let conflict = Conflict {
        path: RepoPath::new("src/config.rs").unwrap(),
        reason: ConflictReason::Content,
        base: None,
        ours: None,
        theirs: None,
        with: Some(task("auth")),
        renamed: None,
    };
    let mut kinds = vec![
        run_started(3, 2),
        EventKind::Degraded {
            from: "copies share blocks".into(),
            to: "plain\u{9b}copies".into(),
            why: "ext4".into(),
        },
    ];
    for name in ["auth", "billing", "search"] {
        kinds.push(queued(task(name), &format!("echo {name}"), None));
        kinds.push(EventKind::TaskStarted { task: task(name), id: *TASK_ID, attempt: 1 });
        kinds.push(EventKind::TaskProgress {
            task: task(name),
            phase: Phase::Working,
            line: Some("\u{7}hello".into()),
            tool: None,
            tokens: None,
            waits_for: None,
        });
    }
    kinds.extend([
        EventKind::TaskFinished { task: task("auth"), report: report("auth", done()) },
        EventKind::TaskFinished { task: task("billing"), report: report("billing", done()) },
        EventKind::TaskFinished {
            task: task("search"),
            report: report("search", Outcome::Failed { failure }),
        },
        EventKind::LandingStarted { tasks: 2 },
        EventKind::TaskLanded { task: task("auth"), branch: None, joined: Vec::new() },
        EventKind::TaskConflicted { task: task("billing"), conflicts: vec![conflict] },
        EventKind::RunFinished {
            totals: Totals { done: 2, failed: 1, ms: 108_000, ..Totals::default() },
            exit_code: ExitCode::Partial,
        },
    ]);
    numbered(kinds)
}

/// The id of each task. Events are compared with those that were written.
static TASK_ID: LazyLock<protocol::TaskId> = LazyLock::new(protocol::TaskId::generate);

fn queued(task: TaskName, title: &str, model: Option<&str>) -> EventKind {
    EventKind::TaskQueued {
        task,
        title: title.to_owned(),
        item: None,
        items: Vec::new(),
        model: model.map(str::to_owned),
    }
}

/// Gives each event its number, and a second of its own.
fn numbered(kinds: Vec<EventKind>) -> Vec<Event> {
    let at = |seq: u64| {
        Timestamp::from_millisecond(1_767_323_045_678 + 1000 * i64::try_from(seq).unwrap())
    };
    (1..)
        .zip(kinds)
        .map(|(seq, kind)| Event {
            seq,
            at: at(seq),
            scope: Some(EventScope::Run("r7k3f".parse().unwrap())),
            kind,
        })
        .collect()
}

/// A call whose argument would move the cursor.
fn call_of_an_agent() -> ToolCall {
    let arguments = serde_json::json!({ "path": "src/\u{1b}[2Ja.rs" });
    ToolCall {
        id: "call_1".to_owned(),
        name: "edit".to_owned(),
        arguments: arguments.as_object().unwrap().clone(),
        malformed: None,
        thought_signature: None,
    }
}

/// The events of a run of one agent, whose provider stumbles once, and who is reminded once.
#[expect(clippy::too_many_lines, reason = "it is a list")]
fn events_of_an_agent() -> Vec<Event> {
    let task = || "auth".parse::<TaskName>().unwrap();
    let usage = Usage {
        input: 20_000,
        output: 4_100,
        cost: Some(Cost::from_nanodollars(51_000_000)),
        ..Usage::ZERO
    };
    let call = call_of_an_agent();
    let message = AssistantMessage {
        content: vec![Part::ToolCall(call.clone())],
        api: "offline".to_owned(),
        provider: "offline".to_owned(),
        model: "a.toml".to_owned(),
        usage,
        stop_reason: StopReason::ToolUse,
        error_message: None,
        timestamp: Timestamp::from_millisecond(0),
    };
    let said = |event| EventKind::SessionEvent { task: Some(task()), event };
    let outcome = Outcome::Done { value: serde_json::Value::Null };
    let (ms, usage) = (31_000, Some(usage));
    let report = TaskReport {
        outcome,
        captured: None,
        ms,
        setup_ms: None,
        usage,
        fallbacks: Vec::new(),
        turns: None,
        reached_limit: None,
        refused_calls: 0,
        timings: None,
    };
    numbered(vec![
        EventKind::RunStarted {
            label: None,
            repo: "/repo".to_owned(),
            group: None,
            tasks: 1,
            jobs: 8,
            isolation: IsolationMode::None,
            merge: MergeMode::None,
            onto: None,
            land: protocol::LandTime::End,
            pass_env: Vec::new(),
            needs: WorkspaceNeeds::default(),
            own_needs: protocol::OwnNeeds::default(),
            verify: Vec::new(),
            retry_of: None,
            caller: None,
        },
        queued(task(), "Move it", Some("offline/a.toml")),
        EventKind::TaskStarted { task: task(), id: *TASK_ID, attempt: 1 },
        said(SessionEvent::TurnStart { turn: 1 }),
        said(SessionEvent::AutoRetryStart {
            attempt: 1,
            max_attempts: 4,
            delay_ms: 2_000,
            error_message: "overloaded".into(),
            waits_for: None,
        }),
        said(SessionEvent::MessageEnd { message: Message::Assistant(message) }),
        said(SessionEvent::ToolExecutionStart {
            tool_call_id: call.id.clone(),
            tool_name: call.name.clone(),
            args: call.arguments,
        }),
        EventKind::TaskProgress {
            task: task(),
            phase: Phase::Working,
            line: Some("src/a.rs".into()),
            tool: Some(call.name.clone()),
            tokens: Some(24_100),
            waits_for: None,
        },
        said(SessionEvent::ToolExecutionEnd {
            tool_call_id: call.id,
            tool_name: call.name,
            result: None,
            is_error: false,
        }),
        EventKind::ContractReminded { task: task(), complaint: "no yield".into() },
        EventKind::TaskYielded { task: task() },
        EventKind::TaskFinished { task: task(), report: Box::new(report) },
        EventKind::RunFinished {
            totals: Totals { done: 1, ms: 31_500, usage, ..Totals::default() },
            exit_code: ExitCode::Success,
        },
    ])
}

fn view(options: OutputOptions) -> View {
    view_on(None, options)
}

fn view_on(stdout: Option<fn() -> Size>, options: OutputOptions) -> View {
    let terminal = Terminal {
        stdout,
        stderr: None,
        capability: TermCapability::Able,
        color_env: ColorEnv::Silent,
    };
    View { zone: jiff::tz::TimeZone::UTC, ..View::of(options, terminal) }
}

/// Returns what a run writes to standard output and to standard error.
fn shown(options: OutputOptions) -> (String, String) {
    shown_of(events(), options)
}

fn shown_of(events: Vec<Event>, options: OutputOptions) -> (String, String) {
    shown_on(view(options), events, CommandHints::default())
}

fn shown_on(view: View, events: Vec<Event>, hints: CommandHints) -> (String, String) {
    let (out, err) = (Sink::default(), Sink::default());
    let streams = OutputStreams { out: Box::new(out.clone()), err: Box::new(err.clone()) };
    let mut renderer = renderer(view, streams, hints);
    for event in events {
        renderer.event(&event).unwrap();
        renderer.tick(event.at);
    }
    renderer.finish().unwrap();
    (out.text(), err.text())
}

const TABLE: &str = "\
task     outcome          files   lines    time
auth     landed               3  +41 −7     31s
billing  conflict             3  +41 −7     31s   src/config.rs, with auth
search   failed: command      3  +41 −7     31s   it ended with code 1�␊
1 landed · 1 conflict · 1 failed    1m48s
";

#[test]
fn without_a_terminal_a_run_is_plain_lines_and_a_table() {
    let (out, err) = shown(OutputOptions::from(&Globals::default()));
    assert_eq!(
        err,
        "03:04:06 run r7k3f · 3 tasks · 2 at once · worktree · lands at the end\n\
         03:04:07 note: copies share blocks: plain�copies (ext4)\n\
         03:04:17 auth done 3 files +41 −7 31s\n\
         03:04:18 billing done 3 files +41 −7 31s\n\
         03:04:19 search failed: command 3 files +41 −7 31s  it ended with code 1�␊\n\
         03:04:20 landing the work of 2 tasks\n\
         03:04:21 auth landed 3 files +41 −7 31s\n\
         03:04:22 billing conflict: src/config.rs, with auth\n\
         03:04:23 run r7k3f ended after 1m48s\n"
    );
    let closing = "
landed  the work of 1 task, in the working tree, not committed
kept    regatta diff r7k3f/billing             its changes
        regatta conflicts r7k3f                the lines that conflict
        regatta apply r7k3f/billing --markers  settles it; or --ours, --theirs, --union, --tool
        regatta diff r7k3f/search              its unfinished work
        regatta apply r7k3f/search             lands it anyway
failed  regatta logs r7k3f/search              it ended with code 1�␊
undo    regatta undo r7k3f                     takes back what has landed
retry   regatta runs retry r7k3f  starts a new run of 1 failed task
";
    assert_eq!(out, format!("{TABLE}{closing}"));
}

#[test]
fn a_command_that_was_not_found_is_explained_in_the_row_of_its_task_and_beside_its_log() {
    let repository = tempfile::tempdir().unwrap();
    for folder in [".git", "node_modules/.bin"] {
        std::fs::create_dir_all(repository.path().join(folder)).unwrap();
    }
    std::fs::write(repository.path().join("node_modules/.bin/mocha"), "").unwrap();
    let mut events = events();
    for event in &mut events {
        if let EventKind::TaskFinished { report, .. } = &mut event.kind
            && let Outcome::Failed { failure } = &mut report.outcome
        {
            "sh: 1: mocha: not found (code 127: the shell did not find a command)"
                .clone_into(&mut failure.message);
        }
    }
    let hints =
        CommandHints { repo: Some(repository.path().to_owned()), ..CommandHints::default() };
    let options = OutputOptions::from(&Globals::default());
    let (out, _) = shown_on(view(options), events.clone(), hints.clone());
    let hint = "sh: 1: mocha: not found; try --carry";
    for begin in ["search   failed: command", "failed  regatta logs r7k3f/search"] {
        let line = out.lines().find(|line| line.starts_with(begin));
        assert!(line.is_some_and(|line| line.contains(hint)), "{begin}: {out}");
    }
    let on_terminal = view_on(Some(|| Size { columns: 80, rows: 24 }), options);
    let (out, _) = shown_on(on_terminal, events, hints);
    assert_eq!(too_long(&out), [""; 0], "{out}");
    assert!(out.contains("\n      sh: 1: mocha: not found; try --carry\n"), "{out}");
}

#[test]
fn plain_progress_says_each_minute_how_many_tasks_run_wait_and_have_ended() {
    let err = Sink::default();
    let streams = OutputStreams { out: Box::new(Sink::default()), err: Box::new(err.clone()) };
    let view = view(OutputOptions::from(&Globals::default()));
    let mut renderer = renderer(view, streams, CommandHints::default());
    let mut events = events().into_iter();
    let began = events.as_slice()[0].at;
    let mut lines_after = |events: Vec<Event>, seconds: std::ops::Range<i64>| {
        let before = err.text().len();
        events.iter().for_each(|event| renderer.event(event).unwrap());
        let noted = err.text().len();
        for second in seconds {
            renderer.tick(Timestamp::from_millisecond(began.as_millisecond() + second * 1000));
        }
        assert!(before < noted);
        err.text()[noted..].to_owned()
    };
    // Two of the tasks have begun.
    let begun = lines_after(events.by_ref().take(9).collect(), 0..60);
    assert_eq!(begun, "");
    let more = lines_after(events.by_ref().take(3).collect(), 60..180);
    let counts = "2 running, 0 queued, 1 done";
    assert_eq!(more, format!("03:05:06 {counts}\n03:06:06 {counts}\n"));
    let landing = lines_after(events.by_ref().take(3).collect(), 180..181);
    let counts = "0 running, 0 queued, 3 done · landing the work of 2 tasks";
    assert_eq!(landing, format!("03:07:06 {counts}\n"));
    assert_eq!(lines_after(events.collect(), 240..600), "", "the run has ended");
}

#[test]
fn of_an_agent_its_end_is_a_plain_line_and_what_it_does_on_the_way_is_not() {
    let (out, err) = shown_of(events_of_an_agent(), OutputOptions::from(&Globals::default()));
    assert_eq!(
        err,
        "03:04:06 run r7k3f · 1 task · 8 at once · in place · nothing is captured or landed\n\
         03:04:10 auth waits 2.0s for its provider: overloaded\n\
         03:04:17 auth done 31s 24.1k tokens\n\
         03:04:18 run r7k3f ended after 31s · 24.1k tokens · $0.05\n"
    );
    assert_eq!(
        out,
        "task  outcome  files  lines    time  tokens     cost\n\
         auth  done                      31s   24.1k    $0.05   in place\n\
         1 done    31s · 24.1k tokens · $0.05\n"
    );
    let talkative =
        OutputOptions { verbosity: Verbosity::Verbose, ..OutputOptions::from(&Globals::default()) };
    let err = shown_of(events_of_an_agent(), talkative).1;
    let lines: Vec<_> = err.lines().skip(1).take(3).collect();
    assert_eq!(
        lines,
        [
            "03:04:08 auth started",
            "03:04:10 auth waits 2.0s for its provider: overloaded",
            "03:04:15 auth was reminded: no yield",
        ]
    );
}

#[test]
fn a_retried_provider_is_one_line_per_task_and_minute() {
    let retry = |task: &str| EventKind::SessionEvent {
        task: task.parse().ok(),
        event: SessionEvent::AutoRetryStart {
            attempt: 1,
            max_attempts: 4,
            delay_ms: 2_000,
            error_message: "over\nloaded".to_owned(),
            waits_for: None,
        },
    };
    let mut events = numbered(vec![retry("auth"); 130]);
    events.extend(numbered(vec![retry("billing"); 2]));
    let normal = OutputOptions::from(&Globals::default());
    let err = shown_of(events.clone(), normal).1;
    assert_eq!(
        err.lines().filter(|line| line.contains(" auth waits 2.0s for")).count(),
        3,
        "{err}"
    );
    assert_eq!(err.lines().filter(|line| line.contains(" billing waits ")).count(), 1, "{err}");
    assert!(err.lines().all(|line| line.ends_with("over␊loaded")), "{err}");
    let verbose = OutputOptions { verbosity: Verbosity::Verbose, ..normal };
    assert_eq!(shown_of(events.clone(), verbose).1.lines().count(), 132);
    let quiet = OutputOptions { verbosity: Verbosity::Quiet, ..normal };
    assert_eq!(shown_of(events, quiet).1, "");
}

#[test]
fn a_tool_that_is_left_out_is_said_with_the_reason_on_one_line() {
    let event = SessionEvent::ToolUnavailable {
        tool_name: "search\n".to_owned(),
        error_message: "no \u{1b}[2Janswer".to_owned(),
    };
    let events = numbered(vec![EventKind::SessionEvent { task: "auth".parse().ok(), event }]);
    let err = shown_of(events, OutputOptions::from(&Globals::default())).1;
    let line = err.lines().next().unwrap();
    assert!(line.contains("note: auth works without the tool `search"), "{err}");
    assert!(line.contains("answer") && !err.contains('\u{1b}'), "{err}");
}

#[test]
fn with_json_standard_output_is_events_and_nothing_else() {
    let (out, err) =
        shown(OutputOptions { form: Form::Json, ..OutputOptions::from(&Globals::default()) });
    let read: Vec<Event> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(read, events());
    assert_eq!(err, "");
}

#[test]
fn progress_can_be_asked_for_beside_events() {
    let plain = OutputOptions {
        form: Form::Json,
        progress: ProgressStyle::Plain,
        ..OutputOptions::from(&Globals::default())
    };
    assert!(shown(plain).1.contains("auth landed"));
}

#[test]
fn a_run_with_a_label_has_it_above_its_table() {
    let mut events = events();
    for event in &mut events {
        if let EventKind::RunStarted { label, .. } = &mut event.kind {
            *label = Some("version\n2".to_owned());
        }
    }
    let (out, _) = shown_of(events, OutputOptions::from(&Globals::default()));
    assert!(out.starts_with(&format!("run r7k3f · version␊2\n{TABLE}")), "{out}");
}

#[test]
fn a_quiet_run_says_what_went_wrong_and_the_totals() {
    let (out, err) = shown(OutputOptions {
        verbosity: Verbosity::Quiet,
        ..OutputOptions::from(&Globals::default())
    });
    assert_eq!(err, "");
    assert!(out.contains("search") && out.contains("billing") && !out.contains("\nauth"), "{out}");
    assert!(out.ends_with("1 landed · 1 conflict · 1 failed    1m48s\n"), "{out}");
}

/// A small generator of numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a text made of everything that a terminal may take for a command.
    fn text(&mut self) -> String {
        const PIECES: [&str; 16] = [
            "\u{1b}[2J",
            "\u{1b}]0;t\u{7}",
            "\u{1b}",
            "\u{9b}31m",
            "\u{7}",
            "\r",
            "\n",
            "\u{202e}",
            "\u{2066}",
            "\u{200f}",
            "\u{8}",
            "\u{feff}",
            "日本",
            "plain ",
            "\u{1b}P",
            "❤\u{fe0f}",
        ];
        let count = self.next() % 12;
        let pick = |number: u64| PIECES[usize::try_from(number).unwrap() % PIECES.len()];
        (0..count).map(|_| pick(self.next())).collect()
    }
}

/// Returns the same events with hostile text wherever somebody else decides what stands there.
fn hostile(events: Vec<Event>, numbers: &mut Numbers) -> Vec<Event> {
    let spoil = |mut event: Event, numbers: &mut Numbers| {
        match &mut event.kind {
            EventKind::Degraded { from, to, why } => {
                (*from, *to, *why) = (numbers.text(), numbers.text(), numbers.text());
            }
            EventKind::TaskQueued { title, model, item, items, .. } => {
                (*title, *model) = (numbers.text(), Some(numbers.text()));
                (*item, *items) = (Some(numbers.text()), vec![numbers.text()]);
            }
            EventKind::TaskProgress { line, tool, .. } => {
                (*line, *tool) = (Some(numbers.text()), Some(numbers.text()));
            }
            EventKind::SessionEvent {
                event: SessionEvent::AutoRetryStart { error_message, .. },
                ..
            } => *error_message = numbers.text(),
            EventKind::ContractReminded { complaint, .. } => *complaint = numbers.text(),
            EventKind::FileRescued { rescue } => {
                rescue.path = RepoPath::new(format!("a{}b", numbers.text())).unwrap();
                let (git_dir, object) = (numbers.text(), numbers.text());
                rescue.kept = RescueLocation::Store { git_dir, object };
            }
            EventKind::TaskLanded { branch, .. } => *branch = Some(numbers.text()),
            EventKind::TaskFinished { report, .. } => {
                if let Outcome::Failed { failure } = &mut report.outcome {
                    failure.message = numbers.text();
                }
            }
            EventKind::TaskConflicted { conflicts, .. } => {
                let path = format!("a{}b", numbers.text());
                conflicts[0].path = RepoPath::new(path).unwrap();
                conflicts[0].with = None;
            }
            _ => {}
        }
        event
    };
    events.into_iter().map(|event| spoil(event, numbers)).collect()
}

/// The events of both runs, as if they were one.
fn all_events() -> Vec<Event> {
    let mut kinds: Vec<_> = events().into_iter().map(|event| event.kind).collect();
    let end = kinds.pop().unwrap();
    let agent = events_of_an_agent().into_iter().skip(1).map(|event| event.kind);
    kinds.extend(agent.filter(|kind| !matches!(kind, EventKind::RunFinished { .. })));
    kinds.push(rescued());
    kinds.push(end);
    numbered(kinds)
}

fn rescued() -> EventKind {
    let kept = RescueLocation::Store {
        git_dir: "/data/app.git".to_owned(),
        object: "refs/rescued/12ab:bytes".to_owned(),
    };
    let path = RepoPath::new("src/x.rs").unwrap();
    EventKind::FileRescued { rescue: Rescue { path, run: "r7k3f".parse().unwrap(), kept } }
}

#[test]
fn a_rescued_version_is_told_in_every_form_and_also_to_those_who_want_no_progress() {
    let event = numbered(vec![rescued()]).remove(0);
    let command = "git --git-dir /data/app.git show refs/rescued/12ab:bytes > FILE";
    let shown = |form, verbosity| {
        let (out, err) = (Sink::default(), Sink::default());
        let streams = OutputStreams { out: Box::new(out.clone()), err: Box::new(err.clone()) };
        let options = OutputOptions { form, verbosity, ..OutputOptions::from(&Globals::default()) };
        renderer(view(options), streams, CommandHints::default()).event(&event).unwrap();
        (out.text(), err.text())
    };
    for verbosity in [Verbosity::Quiet, Verbosity::Normal, Verbosity::Verbose] {
        let (_, err) = shown(Form::Text, verbosity);
        assert!(err.trim_end().ends_with(command), "{verbosity:?}: {err}");
    }
    let (out, _) = shown(Form::Json, Verbosity::Normal);
    let value: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(value["type"], "file_rescued");
    assert_eq!(value["rescue"]["path"], "src/x.rs");
    assert_eq!(value["rescue"]["kept"]["object"], "refs/rescued/12ab:bytes");
    let notes = live_notes(&event);
    assert!(matches!(&notes[..], [LiveNote::Line(line)] if line.ends_with(command)), "{notes:?}");
}

#[test]
fn whatever_tasks_files_and_branches_say_a_terminal_obeys_none_of_it() {
    let mut numbers = Numbers(7);
    for _ in 0..test_limit::by_depth(25, 300) {
        let (out, err, screen) = (Sink::default(), Sink::default(), TestTerminal::new());
        let streams = OutputStreams { out: Box::new(out.clone()), err: Box::new(err.clone()) };
        let verbosity = Verbosity::Verbose;
        let options = OutputOptions { verbosity, ..OutputOptions::from(&Globals::default()) };
        let mut renderer = renderer(view(options), streams, CommandHints::default());
        let mut live = screen.view(|| SIZE);
        let (mut run, mut questions) = (RunView::default(), RunQuestions::default());
        for event in hostile(all_events(), &mut numbers) {
            renderer.event(&event).unwrap();
            run.apply(&event);
            live_notes(&event).into_iter().for_each(|note| live.note(note));
            questions.apply(&event);
            live.draw(&run, &mut questions, event.at);
        }
        renderer.finish().unwrap();
        live.clear();
        for text in [out.text(), err.text()] {
            let obeyed = |letter: char| {
                letter != '\n' && super::super::printable::harmless(letter) != letter
            };
            assert!(!text.contains(obeyed), "{text:?}");
        }
        // What is left without our own steps of the cursor is text.
        let mut drawn = screen.text().replace("\r\n", "").replace("\r\u{1b}[2K", "");
        for count in 1..30 {
            drawn = drawn
                .replace(&format!("\u{1b}[{count}A"), "")
                .replace(&format!("\u{1b}[{count}B"), "");
        }
        assert!(
            drawn.chars().all(|letter| super::super::printable::harmless(letter) == letter),
            "{drawn:?}"
        );
    }
}

#[test]
fn a_remark_reaches_who_follows_and_not_who_reads_results() {
    let said = |options| {
        let (out, err) = (Sink::default(), Sink::default());
        let streams = OutputStreams { out: Box::new(out.clone()), err: Box::new(err.clone()) };
        let mut renderer = renderer(view(options), streams, CommandHints::default());
        renderer.note("stopping");
        (out.text(), err.text())
    };
    let to_who_follows = (String::new(), "stopping\n".to_owned());
    let options = OutputOptions::from(&Globals::default());
    assert_eq!(said(options), to_who_follows);
    // No event says what a remark does.
    let json = OutputOptions { form: Form::Json, ..options };
    assert_eq!(said(json), to_who_follows);
    let quiet = OutputOptions { verbosity: Verbosity::Quiet, ..json };
    assert_eq!(said(quiet), (String::new(), String::new()));
}

#[test]
fn an_event_is_one_line_whatever_is_in_it() {
    let kind = queued("t1".parse().unwrap(), "a\nb\u{1b}[0m", None);
    let given = Event {
        seq: 1,
        at: Timestamp::from_millisecond(0),
        scope: Some(EventScope::Run("r7k3f".parse().unwrap())),
        kind,
    };
    let mut out = Vec::new();
    write_event(&mut out, &given).unwrap();
    assert_eq!(out.iter().filter(|byte| **byte == b'\n').count(), 1);
    assert!(!out.contains(&0x1b));
    assert_eq!(serde_json::from_slice::<Event>(&out).unwrap(), given);
}

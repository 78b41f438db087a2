//! Compaction in the loop, with a model that says what it is told to say.

use protocol::{CompactionReason, SessionMessage};

use super::*;
use crate::agent::compact;
use crate::agent::limits::CallResult;
use crate::compaction::{Preparation, Threshold, Trigger};
use crate::request::Routes;
use crate::session::{MemorySessionLogs, for_model};

/// Keeps every event.
#[derive(Default)]
struct Told(Mutex<Vec<SessionEvent>>);

impl Listener for Told {
    fn event(&self, event: SessionEvent) {
        self.0.lock().unwrap().push(event);
    }
}

impl Told {
    /// Returns the starts of compactions, and of each end whether there is a result, an abort, and
    /// another try.
    fn compactions(&self) -> Vec<String> {
        let told = self.0.lock().unwrap();
        let words = told.iter().filter_map(|event| match event {
            SessionEvent::CompactionStart { reason } => Some(format!("{reason:?}")),
            SessionEvent::CompactionEnd { result, aborted, will_retry, .. } => {
                Some(format!("{} {aborted} {will_retry}", result.is_some()))
            }
            _other => None,
        });
        words.collect()
    }
}

const ROOM: u64 = 1_000;

fn policy(trigger: Trigger) -> CompactionPolicy {
    CompactionPolicy { trigger, threshold: Threshold::Tokens(ROOM), reserve: 100, keep_recent: 200 }
}

fn text(text: &str) -> AssistantMessage {
    let usage = Usage { input: 10, output: 5, ..Usage::ZERO };
    let content = vec![Part::text(text)];
    AssistantMessage { content, usage, stop_reason: StopReason::Stop, ..answer(&[]) }
}

fn overflow() -> Vec<ModelEvent> {
    let failure = AttemptFailure::new(FailureClass::Overflow, "prompt is too long");
    vec![ModelEvent::Failed(failure)]
}

/// A session on a log in memory, and everything around it.
struct Scene {
    logs: MemorySessionLogs,
    script: Script,
    told: Told,
    hands: Clockwork,
}

impl Scene {
    fn new(answers: impl IntoIterator<Item = AssistantMessage>) -> Self {
        Self {
            logs: MemorySessionLogs::default(),
            script: Script::of(answers),
            told: Told::default(),
            hands: Clockwork::default(),
        }
    }

    fn open(&self) -> Conversation {
        let header = SessionHeader {
            id: SessionId::generate(),
            cwd: "/w".into(),
            at: Noon.now(),
            parent: None,
        };
        let init = SessionInit {
            system: "be good".into(),
            model: "script/m".parse().unwrap(),
            tools: Vec::new(),
            assignment: None,
        };
        let opened = Conversation::open(&self.logs, Path::new("/l"), header, init, Arc::new(Noon));
        finish(opened).unwrap()
    }

    /// Returns a conversation of four turns, with about 300 tokens each.
    fn talked(&self) -> Conversation {
        let mut conversation = self.open();
        for turn in 0..4 {
            let words = format!("turn {turn} {}", "word ".repeat(120));
            let input = UserInput::new(InputId::generate(), words.clone());
            let _added = finish(conversation.push_input(input)).unwrap();
            let reply = AssistantMessage { usage: Usage::ZERO, ..text(&words) };
            let _answer = finish(conversation.push_answer(&reply)).unwrap();
        }
        conversation
    }

    /// Returns a conversation in which four commands ran, each with an output of about 25,000 tokens.
    fn worked(&self) -> Conversation {
        let mut conversation = self.open();
        let input = UserInput::new(InputId::generate(), "Look at all of it.");
        let _added = finish(conversation.push_input(input)).unwrap();
        for number in 0..4 {
            let (id, words) = (format!("call_{number}"), format!("{number}234 ").repeat(16_667));
            let asks = answer(&[(&id, "bash")]);
            let asks = finish(conversation.push_answer(&asks)).unwrap();
            let call = asks.calls().next().unwrap();
            finish(conversation.push_result(call, ToolOutput::text(words), CallResult::Ok))
                .unwrap();
        }
        conversation
    }

    fn context(&self, trigger: Trigger) -> AgentContext<'_> {
        let context = context(&self.script, &self.hands, &self.told);
        AgentContext { compaction: policy(trigger), ..context }
    }

    fn ask(&self, conversation: &mut Conversation, trigger: Trigger) -> AgentEnd {
        let prompt = Prompt::free(UserInput::new(InputId::generate(), "and now?"));
        finish(run(conversation, &mut self.context(trigger), Some(prompt)))
    }

    /// Returns of each request whether it asks for a summary, and its messages.
    fn asked(&self) -> Vec<(bool, Vec<Arc<Message>>)> {
        let asked = self.script.asked.lock().unwrap();
        let of = |request: &ModelRequest| {
            (&*request.system == Preparation::SYSTEM, request.messages.clone())
        };
        asked.iter().map(of).collect()
    }
}

fn silent() -> AgentEnd {
    AgentEnd::Silent("it ended without a yield".to_owned())
}

fn begins_with_summary(messages: &[Arc<Message>], summary: &str) -> bool {
    matches!(&*messages[0], Message::User(said) if said.text().contains(summary))
}

#[test]
fn a_conversation_above_the_threshold_is_summed_up_before_the_next_request_and_goes_on() {
    let scene = Scene::new([text("It was about turns."), text("Now this.")]);
    let mut conversation = scene.talked();
    assert_eq!(scene.ask(&mut conversation, Trigger::Automatic), silent());
    let asked = scene.asked();
    assert_eq!(asked.iter().map(|(summary, _)| *summary).collect::<Vec<_>>(), [true, false]);
    assert!(begins_with_summary(&asked[1].1, "It was about turns."), "{:?}", asked[1]);
    assert!(asked[1].1.len() < 9, "{:?}", asked[1]);
    assert_eq!(scene.told.compactions(), ["Threshold", "true false false"]);
    assert_eq!(conversation.size().1.tokens(), 30, "the summary counts");
    let messages = conversation.messages.clone();
    let again = scene.open();
    assert_eq!(again.messages, messages, "the log gives the compacted conversation");
    assert_eq!(again.size().1.tokens(), 30);
    assert_eq!(again.usage.turns, 5);
}

/// Returns which of the outputs of tools in a request are replaced by a notice.
fn pruned(messages: &[Arc<Message>]) -> Vec<bool> {
    let results = messages.iter().filter_map(|message| match &**message {
        Message::ToolResult(result) => Some(result.text()),
        Message::User(_) | Message::Assistant(_) => None,
    });
    results.map(|text| text.starts_with("[Output truncated - ")).collect()
}

#[test]
fn old_outputs_are_pruned_first_and_nothing_is_summed_up_if_that_is_enough() {
    let scene = Scene::new([text("Now this.")]);
    let mut conversation = scene.worked();
    let before = conversation.messages.clone();
    let mut context = scene.context(Trigger::Automatic);
    context.compaction.threshold = Threshold::Tokens(60_000);
    let prompt = Prompt::free(UserInput::new(InputId::generate(), "and now?"));
    assert_eq!(finish(run(&mut conversation, &mut context, Some(prompt))), silent());
    let asked = scene.asked();
    assert_eq!(asked.iter().map(|(summary, _)| *summary).collect::<Vec<_>>(), [false]);
    assert_eq!(pruned(&asked[0].1), [true, true, false, false], "the newest 40,000 tokens stay");
    assert_eq!(scene.told.compactions(), [""; 0]);
    let again = scene.open();
    assert_eq!(again.messages[..before.len()], before, "the log has what the model is not told");
}

#[test]
fn what_is_still_too_long_when_old_outputs_are_pruned_is_summed_up() {
    let scene = Scene::new([text("It looked at all."), text("Now this.")]);
    let mut conversation = scene.worked();
    let mut context = scene.context(Trigger::Automatic);
    context.compaction.threshold = Threshold::Tokens(30_000);
    let prompt = Prompt::free(UserInput::new(InputId::generate(), "and now?"));
    assert_eq!(finish(run(&mut conversation, &mut context, Some(prompt))), silent());
    let asked = scene.asked();
    assert_eq!(asked.iter().map(|(summary, _)| *summary).collect::<Vec<_>>(), [true, false]);
    let Message::User(told) = &*asked[0].1[0] else { panic!("a summary is asked for by a user") };
    let notices = told.text().matches("[Output truncated - ").count();
    assert!(notices >= 2, "the summary is made of what was pruned: {notices}");
    assert!(begins_with_summary(&asked[1].1, "It looked at all."));
    assert_eq!(scene.told.compactions(), ["Threshold", "true false false"]);
}

#[test]
fn a_request_that_does_not_fit_is_followed_by_a_compaction_once_in_a_run() {
    let scene = Scene::new([]);
    let said = |it: AssistantMessage| {
        let content = it.content;
        vec![ModelEvent::Ended(ModelAnswer { content, stop_reason: StopReason::Stop })]
    };
    let answers = [overflow(), said(text("Sum.")), said(text("Fits."))];
    scene.script.answers.lock().unwrap().extend(answers);
    let mut conversation = scene.talked();
    let mut context = scene.context(Trigger::Automatic);
    context.compaction.threshold = Threshold::Reserve;
    let prompt = Prompt::free(UserInput::new(InputId::generate(), "and now?"));
    assert_eq!(finish(run(&mut conversation, &mut context, Some(prompt))), silent());
    assert_eq!(scene.told.compactions(), ["Overflow", "true false true"]);
    assert!(begins_with_summary(&scene.asked()[2].1, "Sum."));
    // It does not fit again: in this run nothing more is tried.
    let answers = [overflow(), said(text("Sum again.")), overflow()];
    scene.script.answers.lock().unwrap().extend(answers);
    let more = "word ".repeat(600);
    let prompt = Prompt::free(UserInput::new(InputId::generate(), more));
    let end = finish(run(&mut conversation, &mut context, Some(prompt)));
    let AgentEnd::Failed(failure) = end else { panic!("{end:?}") };
    assert_eq!(failure.class, FailureClass::Overflow);
    assert_eq!(scene.asked().len(), 6);
}

#[test]
fn a_summary_that_does_not_fit_either_is_asked_for_with_less() {
    let scene = Scene::new([]);
    let content = vec![Part::text("Sum.")];
    let said = vec![ModelEvent::Ended(ModelAnswer { content, stop_reason: StopReason::Stop })];
    let answers = [overflow(), overflow(), said.clone(), said];
    scene.script.answers.lock().unwrap().extend(answers);
    let mut conversation = scene.talked();
    let mut context = scene.context(Trigger::Automatic);
    context.compaction.threshold = Threshold::Tokens(100_000);
    let prompt = Prompt::free(UserInput::new(InputId::generate(), "and now?"));
    assert_eq!(finish(run(&mut conversation, &mut context, Some(prompt))), silent());
    let asked: Vec<_> = scene.asked().into_iter().map(|(summary, _)| summary).collect();
    assert_eq!(asked, [false, true, true, false]);
}

#[test]
fn where_it_is_switched_off_nothing_is_compacted_unless_the_user_asks_for_it() {
    let scene = Scene::new([text("Fits.")]);
    let mut conversation = scene.talked();
    assert_eq!(scene.ask(&mut conversation, Trigger::Manual), silent());
    scene.script.answers.lock().unwrap().push_back(overflow());
    let end = scene.ask(&mut conversation, Trigger::Manual);
    assert!(matches!(end, AgentEnd::Failed(Failure { class: FailureClass::Overflow, .. })));
    assert_eq!(scene.told.compactions(), Vec::<String>::new());
}

#[test]
fn a_compaction_that_is_asked_for_heeds_its_instructions_and_names_the_entry_from_which_all_is_kept()
 {
    let scene = Scene::new([text("Asked for.")]);
    let mut conversation = scene.talked();
    let context = scene.context(Trigger::Manual);
    let instructions = Some("Keep the names.");
    let result = finish(compact(&mut conversation, &context, instructions)).unwrap();
    assert_eq!(scene.told.compactions(), ["Manual", "true false false"]);
    let (_, messages) = scene.asked().remove(0);
    let Message::User(prompt) = &*messages[0] else { panic!() };
    assert!(prompt.text().contains("Keep the names."), "{}", prompt.text());
    assert!(result.summary.starts_with("Asked for."), "{}", result.summary);
    // What is left is kept: there is nothing to sum up.
    let refused = finish(compact(&mut conversation, &context, None)).unwrap_err();
    assert!(refused.message.starts_with("there is nothing to sum up"), "{}", refused.message);
    let opened = finish(scene.logs.open(
        Path::new("/l"),
        SessionHeader { id: SessionId::generate(), cwd: "/w".into(), at: Noon.now(), parent: None },
    ));
    let kept = opened.unwrap().context.messages;
    assert!(matches!(kept[0].message, SessionMessage::CompactionSummary(_)));
    assert_eq!(kept[1].entry.as_str(), result.first_kept_entry_id);
    assert_eq!(Some(&*conversation.messages[1]), for_model(&kept[1].message).as_ref());
}

#[test]
fn a_summary_that_fails_leaves_the_conversation_and_is_not_tried_again_in_the_run() {
    let scene = Scene::new([text("  "), answer(&[("c", "read-1")]), text("Done.")]);
    let mut conversation = scene.talked();
    assert_eq!(scene.ask(&mut conversation, Trigger::Automatic), silent());
    let asked: Vec<_> = scene.asked().into_iter().map(|(summary, _)| summary).collect();
    assert_eq!(asked, [true, false, false]);
    assert_eq!(scene.told.compactions(), ["Threshold", "false false false"]);
    assert_eq!(conversation.messages.len(), 12);
}

#[test]
fn an_abort_of_a_compaction_leaves_the_conversation_as_it_was() {
    for reason in [CompactionReason::Threshold, CompactionReason::Manual] {
        let scene = Scene::new([]);
        let mut conversation = scene.talked();
        let before = conversation.messages.clone();
        let mut context = scene.context(Trigger::Automatic);
        context.model.client.routes = Routes::only(Arc::new(Stalled));
        let abort = context.abort.clone();
        let prompt = Prompt::free(UserInput::new(InputId::generate(), "and now?"));
        let mut polled = Context::from_waker(Waker::noop());
        if reason == CompactionReason::Manual {
            let mut working = pin!(compact(&mut conversation, &context, None));
            assert!(working.as_mut().poll(&mut polled).is_pending());
            abort.cancel(crate::ports::CancelLevel::Gently);
            assert!(finish(working).unwrap_err().message.contains("aborted"));
        } else {
            let mut working = pin!(run(&mut conversation, &mut context, Some(prompt)));
            assert!(working.as_mut().poll(&mut polled).is_pending());
            abort.cancel(crate::ports::CancelLevel::Gently);
            assert_eq!(finish(working), AgentEnd::Aborted);
        }
        assert_eq!(scene.told.compactions(), [format!("{reason:?}"), "false true false".into()]);
        assert_eq!(conversation.messages[..8], before[..]);
        assert_eq!(scene.open().messages, conversation.messages);
    }
}

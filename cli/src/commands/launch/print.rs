//! Print mode: the prompts are answered one after another, and the last answer is printed.

use std::io::{self, Write};
use std::time::Duration;

use actors::{Engine, Events, SessionHandle};
use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{
    AgentEnd, AssistantMessage, EventKind, Failure, FailureClass, InputId, Message, Part,
    SessionEvent, StopReason, UserInput,
};

use super::print_output::PrintOutput;
use crate::display_thread::next_of;
use crate::render;
use crate::signals::{Signals, exit_now};
use regatta::session::Prompts;

/// What a session came to.
#[derive(Debug)]
pub(super) enum Printed {
    /// All prompts are answered. This is the last answer.
    Answered(Option<AssistantMessage>),
    /// A prompt could not be answered.
    Failed(Failure),
    /// A signal stopped the work.
    Interrupted(Interruption),
    /// A part of the engine failed.
    EngineFailed(Failure),
    /// Standard output cannot be written.
    OutputFailed(io::Error),
}

/// How often what is displayed only for now is updated.
const TICK: Duration = Duration::from_secs(1);

/// Sends the prompts, each when the one before is answered. Passes each event of the session to `output`.
pub(super) async fn print(
    (engine, mut events): (&Engine, Events),
    session: &SessionHandle,
    prompts: Prompts,
    signals: &mut Signals,
    output: &mut PrintOutput<'_>,
) -> Printed {
    let mut of_runs = match output.has_subagents() {
        true => Some(engine.listen_to_runs().await),
        false => None,
    };
    let mut answer = None;
    let (mut attachments, mut mentions) = (prompts.images, prompts.mentions.into_iter());
    for text in prompts.texts {
        let attachments = std::mem::take(&mut attachments);
        let mentions = mentions.next().unwrap_or_default();
        let input = UserInput::new(InputId::generate(), text);
        session.prompt(UserInput { attachments, mentions, ..input });
        let events = (&mut events, &mut of_runs);
        let ended = until_end(engine, session, events, signals, output).await;
        output.clear();
        match ended {
            Ok(said) => answer = said,
            Err(printed) => return printed,
        }
    }
    Printed::Answered(answer)
}

/// Waits for the end of the work on a prompt. Returns the last answer of the model.
async fn until_end(
    engine: &Engine,
    session: &SessionHandle,
    (events, of_runs): (&mut Events, &mut Option<Events>),
    signals: &mut Signals,
    output: &mut PrintOutput<'_>,
) -> Result<Option<AssistantMessage>, Printed> {
    let (mut answer, mut interrupted) = (None, None);
    let mut tick = tokio::time::interval(TICK);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        let event = tokio::select! {
            biased;
            Some(event) = next_of(of_runs) => {
                output.run_event(&event).map_err(Printed::OutputFailed)?;
                continue;
            }
            event = events.recv() => event,
            why = signals.next() => {
                if interrupted.replace(why).is_some() {
                    output.clear();
                    exit_now(why);
                }
                session.abort(CancelLevel::Gently);
                continue;
            }
            what = engine.failed() => return Err(Printed::EngineFailed(what)),
            _ = tick.tick() => {
                output.tick();
                continue;
            }
        };
        let Some(event) = event else {
            let ended = Failure::new(FailureClass::Crashed, "its events ended before the end");
            return Err(Printed::EngineFailed(ended));
        };
        output.event(&event).map_err(Printed::OutputFailed)?;
        let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
        match event {
            SessionEvent::MessageEnd { message: Message::Assistant(said) } => {
                answer = take_answer(answer, said);
            }
            SessionEvent::AgentEnd { end } => {
                return match (interrupted, end.clone()) {
                    (Some(why), _) => Err(Printed::Interrupted(why)),
                    (None, AgentEnd::Failed(failure)) => Err(Printed::Failed(failure)),
                    (None, AgentEnd::Aborted) => Err(Printed::Interrupted(Interruption::Terminate)),
                    (None, AgentEnd::Yielded(_) | AgentEnd::GaveUp(_) | AgentEnd::Silent(_)) => {
                        Ok(answer)
                    }
                };
            }
            _ => {}
        }
    }
}

/// Returns the answer after the model has said more: that, or the rest of an answer in which it had paused.
fn take_answer(
    before: Option<AssistantMessage>,
    said: &AssistantMessage,
) -> Option<AssistantMessage> {
    match said.stop_reason {
        // It is asked again, or the work is over.
        StopReason::Error | StopReason::Aborted => return before,
        StopReason::Stop | StopReason::Length | StopReason::ToolUse => {}
    }
    let Some(paused) = before.filter(AssistantMessage::is_paused) else {
        return Some(said.clone());
    };
    let text = Part::text(format!("{}{}", paused.text(), said.text()));
    let calls = said.calls().cloned().map(Part::ToolCall);
    Some(AssistantMessage { content: [text].into_iter().chain(calls).collect(), ..said.clone() })
}

/// Writes the text of an answer, each part with a line break, without what would control a terminal.
///
/// # Errors
/// The output cannot be written.
pub(super) fn write_answer(out: &mut dyn Write, answer: &AssistantMessage) -> io::Result<()> {
    out.write_all(render::visible_text(&answer.text()).as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use protocol::{Timestamp, ToolCall, Usage};

    use super::*;

    #[test]
    fn the_parts_of_a_paused_answer_are_one_answer_and_others_stand_for_themselves() {
        use StopReason::{Error, Stop, ToolUse};
        let call = || {
            let (id, name) = ("1".to_owned(), "read".to_owned());
            let arguments = serde_json::Map::new();
            Part::ToolCall(ToolCall {
                id,
                name,
                arguments,
                malformed: None,
                thought_signature: None,
            })
        };
        let said = |stop_reason, content: Vec<Part>| AssistantMessage {
            content,
            api: String::new(),
            provider: String::new(),
            model: String::new(),
            usage: Usage::ZERO,
            stop_reason,
            error_message: None,
            timestamp: Timestamp::from_millisecond(0),
        };
        let (text, thought) = (|text| Part::text(text), || Part::thinking("hm"));
        let paused = || said(ToolUse, vec![thought(), text("one, ")]);
        for (answers, printed) in [
            (vec![paused(), said(Stop, vec![thought(), text("two")])], "one, two"),
            (vec![paused(), paused(), said(Stop, vec![text("two")])], "one, one, two"),
            (
                vec![paused(), said(Error, vec![text("tw")]), said(Stop, vec![text("two")])],
                "one, two",
            ),
            (vec![paused(), said(ToolUse, vec![])], "one, "),
            (vec![paused(), said(ToolUse, vec![call()]), said(Stop, vec![text("end")])], "end"),
            (vec![said(Stop, vec![text("one")]), said(Stop, vec![text("two")])], "two"),
        ] {
            let last = answers.iter().fold(None, take_answer).map(|answer| answer.text());
            assert_eq!(last.as_deref(), Some(printed), "{answers:?}");
        }
    }
}

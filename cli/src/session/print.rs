//! Print mode: the prompts are answered one after another, and the last answer is printed.

use std::io::{self, Write};

use actors::{Engine, Events, SessionHandle};
use engine::exit_code::Interruption;
use engine::ports::CancelLevel;
use protocol::{
    AgentEnd, AssistantMessage, Event, EventKind, Failure, FailureClass, InputId, Message,
    SessionEvent, UserInput,
};

use super::prompts::Prompts;
use crate::render;
use crate::signals::{Signals, exit_now};

/// What a session came to.
#[derive(Debug)]
pub(crate) enum Printed {
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

/// Sends the prompts, each when the one before is answered. Passes each event of the engine, whose only
/// session it is, to `show`.
pub(crate) async fn print(
    (engine, mut events): (&Engine, Events),
    session: &SessionHandle,
    prompts: Prompts,
    signals: &mut Signals,
    show: &mut (dyn FnMut(&Event) -> io::Result<()> + Send),
) -> Printed {
    let mut answer = None;
    let mut attachments = prompts.images;
    for text in prompts.texts {
        let attachments = std::mem::take(&mut attachments);
        session.prompt(UserInput { attachments, ..UserInput::new(InputId::generate(), text) });
        match until_end(engine, session, &mut events, signals, show).await {
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
    events: &mut Events,
    signals: &mut Signals,
    show: &mut (dyn FnMut(&Event) -> io::Result<()> + Send),
) -> Result<Option<AssistantMessage>, Printed> {
    let (mut answer, mut interrupted) = (None, None);
    loop {
        let event = tokio::select! {
            biased;
            event = events.recv() => event,
            why = signals.next() => {
                if interrupted.replace(why).is_some() {
                    exit_now(why);
                }
                session.abort(CancelLevel::Gently);
                continue;
            }
            what = engine.failed() => return Err(Printed::EngineFailed(what)),
        };
        let Some(event) = event else {
            let ended = Failure::new(FailureClass::Crashed, "its events ended before it did");
            return Err(Printed::EngineFailed(ended));
        };
        show(&event).map_err(Printed::OutputFailed)?;
        let EventKind::SessionEvent { event, .. } = &event.kind else { continue };
        match event {
            SessionEvent::MessageEnd { message: Message::Assistant(said) } => {
                answer = Some(said.clone());
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

/// Writes the text of an answer, each part with a line break, without what would control a terminal.
///
/// # Errors
/// The output cannot be written.
pub(crate) fn write_answer(out: &mut dyn Write, answer: &AssistantMessage) -> io::Result<()> {
    out.write_all(render::visible_text(&answer.text()).as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

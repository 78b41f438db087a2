//! A move of a session to another entry of its log, with a summary of the branch that is left.

use std::sync::Arc;

use protocol::{EntryId, Failure, FailureClass, SessionEntry, SessionEvent, Usage};

use super::compacting::{request, sum_up};
use super::context::AgentContext;
use super::conversation::Conversation;
use crate::compaction::{BranchPreparation, BranchSummaries, SummaryInstructions};
use crate::ports::SessionLogError;
use crate::session::{LeftBranch, MovePreview, Moved, SessionMove, for_model};

/// Where a session is to go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Navigation {
    /// The entry; `None` begins before all entries. In place of a prompt, the session goes on from
    /// the entry before it.
    pub target: Option<EntryId>,
    /// What a model reads about the branch that is left.
    pub summary: SummaryOfLeft,
    /// A name for the place from which the session goes on.
    pub label: Option<String>,
}

/// What a model reads about a branch that is left.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum SummaryOfLeft {
    /// A summary if the settings say so.
    #[default]
    AsSet,
    /// Nothing.
    Nothing,
    /// A summary that the model of the session writes.
    Asked(SummaryInstructions),
    /// This summary.
    Given(LeftBranch),
}

/// What a move has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Navigated {
    /// The entry from which the session went on before.
    pub old_leaf: Option<EntryId>,
    /// The entry from which it goes on.
    pub new_leaf: Option<EntryId>,
    /// The text of the prompt, or of the message of an extension, in whose place it goes on.
    pub text: Option<String>,
    /// The entry with the summary of the branch that was left.
    pub summary: Option<EntryId>,
}

/// How often a summary is asked for at most, if the branch does not fit.
const ATTEMPTS: u32 = 3;

/// Lets the conversation go on from another entry of its log. If the work is aborted before it has
/// moved, it stays where it is.
///
/// # Errors
/// There is no such entry, there is no summary, it was aborted, or the log cannot be used. The session
/// stays where it is.
pub async fn navigate(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    navigation: Navigation,
) -> Result<Navigated, Failure> {
    let Navigation { target, summary, label } = navigation;
    let failed = |error: SessionLogError| error.to_failure();
    let preview = conversation.log.preview(target).await.map_err(failed)?;
    if preview.is_nowhere() {
        let MovePreview { leaf, text, .. } = preview;
        return Ok(Navigated { old_leaf: leaf.clone(), new_leaf: leaf, text, summary: None });
    }
    let summary = match summary {
        SummaryOfLeft::Given(summary) => Some(summary),
        SummaryOfLeft::Nothing => None,
        SummaryOfLeft::AsSet => match context.branch_summary.usual {
            BranchSummaries::Off => None,
            BranchSummaries::On => {
                summary_of(conversation, context, &preview, &SummaryInstructions::Usual).await?
            }
        },
        SummaryOfLeft::Asked(instructions) => {
            summary_of(conversation, context, &preview, &instructions).await?
        }
    };
    let MovePreview { target, text, leaf, .. } = preview;
    let has_summary = summary.is_some();
    let to = SessionMove { target: target.clone(), summary };
    let at = conversation.clock.now();
    let Moved { entry, context: found } = conversation.log.go_to(at, to).await.map_err(failed)?;
    let summary = has_summary.then_some(entry);
    let new_leaf = summary.clone().or(target);
    conversation.confirm_model(&context.model.route, &found).await.map_err(failed)?;
    conversation.replace(found);
    if let (Some(target_id), Some(label)) = (new_leaf.clone(), label) {
        let entry = SessionEntry::Label { target_id, label: Some(label) };
        conversation.write(entry).await.map_err(failed)?;
    }
    let id = |entry: &EntryId| entry.as_str().to_owned();
    context.listener.event(SessionEvent::SessionTree {
        new_leaf_id: new_leaf.as_ref().map(id),
        old_leaf_id: leaf.as_ref().map(id),
        summary_entry_id: summary.as_ref().map(id),
        messages: conversation.messages.len(),
    });
    Ok(Navigated { old_leaf: leaf, new_leaf, text, summary })
}

/// Asks the model for a summary of what a move leaves. `None` if it leaves no message.
async fn summary_of(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    preview: &MovePreview,
    instructions: &SummaryInstructions,
) -> Result<Option<LeftBranch>, Failure> {
    let left = preview.left.iter().filter_map(|logged| for_model(&logged.message));
    let left: Vec<_> = left.map(Arc::new).collect();
    let window = context.model.client.routes.current().context_window();
    let mut input = context.branch_summary.input(window);
    let mut usage = Usage::ZERO;
    let mut summary = Ok(None);
    for _attempt in 0..ATTEMPTS {
        let Some(prepared) = BranchPreparation::of(&left, input, instructions) else { break };
        let asked = request(conversation, prepared.prompt.clone());
        summary = match sum_up(vec![asked], context, &mut usage).await {
            None => {
                Err(Failure::new(FailureClass::Invalid, "the move to another entry was aborted"))
            }
            Some(Err(failure)) => Err(failure),
            Some(Ok(answers)) => Ok(Some(prepared.finish(&answers.concat(), usage))),
        };
        match &summary {
            // The window is smaller than it is known to be.
            Err(failure) if failure.class == FailureClass::Overflow => input /= 2,
            Ok(_) | Err(_) => break,
        }
    }
    conversation.usage.used = conversation.usage.used + usage;
    summary
}

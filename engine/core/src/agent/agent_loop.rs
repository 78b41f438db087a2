//! The agent loop: asks the model and runs its tool calls, turn by turn.

use std::sync::Arc;

use protocol::{
    AgentEnd, AssistantMessage, Failure, FailureClass, InputId, Part, SessionEvent, StopReason,
    Usage, UserInput,
};

use super::answer_events::AnswerEvents;
use super::compacting::{CompactionEnd, Compactions};
use super::context::{AgentContext, announce};
use super::conversation::Conversation;
use super::inputs::Prompt;
use super::limits::{BudgetDecision, Warned};
use super::prompts;
use super::request_messages::request_messages;
use super::tool_calls::{AllowedCalls, run_calls};
use crate::ports::{ModelRequest, RequestOptions, SessionLogError, ToolChoice};
use crate::request::{FailedRequest, Progress, RouteChange, aborted_usage};

/// Continues a conversation until the model stops or yields, or until the work is aborted or fails.
/// If the last message is an answer of the model and there is no new input, the model is not asked
/// again.
pub async fn run(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    prompt: Option<Prompt>,
) -> AgentEnd {
    match run_turns(conversation, context, prompt).await {
        Ok(end) | Err(end) => end,
    }
}

async fn run_turns(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    prompt: Option<Prompt>,
) -> Result<AgentEnd, AgentEnd> {
    let mut start = TurnStart::default();
    if let Some(prompt) = prompt {
        start.inputs.push(prompt.input);
        start.choice = prompt.choice;
    }
    let (mut stop, mut compactions) = (StopReason::Stop, Compactions::default());
    loop {
        match apply_request_changes(conversation, context).await {
            Ok(steering) => start.inputs.extend(steering),
            Err(error) => {
                drop_inputs(context, start.inputs);
                return Err(error.into());
            }
        }
        if start.inputs.is_empty() {
            if context.abort.is_cancelled() {
                return Ok(AgentEnd::Aborted);
            }
            if conversation.awaits_input() {
                start.inputs = context.inputs.before_stop().await;
                if start.inputs.is_empty() {
                    let Some(why) = conversation.call_as_text() else {
                        return Ok(AgentEnd::Silent(describe_missing_yield(stop)));
                    };
                    context.listener.event(SessionEvent::Notice { message: why.clone() });
                    return Ok(AgentEnd::Silent(why));
                }
                continue;
            }
            if let BudgetDecision::Exceeded(failure) = context.limits.check(&conversation.usage) {
                return Ok(AgentEnd::Failed(failure));
            }
        }
        let turn = conversation.usage.turns.saturating_add(1);
        context.listener.event(SessionEvent::TurnStart { turn });
        let start = std::mem::take(&mut start);
        let done = take_turn(conversation, context, start, &mut compactions).await;
        context.listener.event(SessionEvent::TurnEnd { turn });
        match done? {
            TurnEnd::Stopped(reason) => stop = reason,
            TurnEnd::Ended(end) => return Ok(end),
        }
    }
}

/// What a turn begins with.
struct TurnStart {
    inputs: Vec<UserInput>,
    choice: ToolChoice,
}

impl Default for TurnStart {
    fn default() -> Self {
        Self { inputs: Vec::new(), choice: ToolChoice::Free }
    }
}

/// The end of a turn.
enum TurnEnd {
    /// The model stopped for this reason, and its calls have their results.
    Stopped(StopReason),
    /// A call ended the session.
    Ended(AgentEnd),
}

/// Adds the inputs of a turn, asks the model, and runs the calls of its answer.
async fn take_turn(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    TurnStart { inputs, mut choice }: TurnStart,
    compactions: &mut Compactions,
) -> Result<TurnEnd, AgentEnd> {
    let mut inputs = inputs.into_iter();
    while let Some(input) = inputs.next() {
        if let Err(error) = take_input(conversation, context, input.clone()).await {
            drop_inputs(context, [input].into_iter().chain(inputs));
            return Err(error.into());
        }
    }
    if context.abort.is_cancelled() {
        return Err(AgentEnd::Aborted);
    }
    // The inputs are in the log already: the model has answered them before a crash.
    if conversation.awaits_input() {
        return Ok(TurnEnd::Stopped(StopReason::Stop));
    }
    match context.unless_aborted(context.tools.refresh()).await {
        Some(refreshed) => refreshed.map_err(AgentEnd::Failed)?,
        None => return Err(AgentEnd::Aborted),
    }
    let mut allowed = AllowedCalls::All;
    match context.limits.check(&conversation.usage) {
        BudgetDecision::Continue => {}
        BudgetDecision::YieldNow(text) => {
            let input = UserInput::new(InputId::of_limit(conversation.session), text);
            let added = conversation.push_input(input).await?;
            added.iter().for_each(|message| announce(context.listener, message));
            conversation.usage.warned = Warned::Yes;
            choice = ToolChoice::Force(prompts::YIELD.to_owned());
            allowed = AllowedCalls::YieldOnly;
        }
        BudgetDecision::Exceeded(failure) => return Err(AgentEnd::Failed(failure)),
    }
    if let CompactionEnd::Aborted = compactions.before_request(conversation, context).await? {
        return Err(AgentEnd::Aborted);
    }
    let answer = ask_with_room(conversation, context, choice, compactions).await?;
    let calls: Vec<_> = answer.calls().cloned().collect();
    let end = run_calls(conversation, context, &calls, allowed).await?;
    Ok(end.map_or(TurnEnd::Stopped(answer.stop_reason), TurnEnd::Ended))
}

/// Asks the model. If the request does not fit, the conversation is compacted, once, and the model is
/// asked again.
async fn ask_with_room(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    choice: ToolChoice,
    compactions: &mut Compactions,
) -> Result<AssistantMessage, AgentEnd> {
    let end = match ask(conversation, context, choice.clone()).await {
        Err(AgentEnd::Failed(failure)) if failure.class == FailureClass::Overflow => failure,
        end => return end,
    };
    match compactions.after_overflow(conversation, context).await? {
        CompactionEnd::Done(_) => ask(conversation, context, choice).await,
        CompactionEnd::Aborted => Err(AgentEnd::Aborted),
        CompactionEnd::NothingToDo => Err(AgentEnd::Failed(end)),
        CompactionEnd::Failed(why) => {
            let message = format!("{}; it was not compacted: {}", end.message, why.message);
            Err(AgentEnd::Failed(Failure { message, ..end }))
        }
    }
}

/// Applies changes of the model, of its thinking, its tools and its system prompt, and returns the inputs
/// to add before the next request.
async fn apply_request_changes(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
) -> Result<Vec<UserInput>, SessionLogError> {
    let changes = context.inputs.before_request().await;
    if let Some(model) = changes.model {
        conversation.change_model(&model.route).await?;
        if model.route.thinking != context.model.route.thinking {
            conversation.write_thinking(model.route.thinking).await?;
        }
        context.listener.event(SessionEvent::ModelChange { model: model.route.to_string() });
        context.model = model;
    }
    if let Some(level) = changes.thinking {
        conversation.change_thinking(level).await?;
        context.listener.event(SessionEvent::ThinkingLevelChange { thinking_level: level });
        context.model.route.thinking = Some(level);
    }
    if let Some(setup) = changes.setup {
        context.only = setup.only;
        let declared = context.declarations();
        let names: Vec<_> = declared.iter().map(|tool| tool.name.as_str()).collect();
        conversation.system = setup.system.text(&names);
    }
    Ok(changes.steering)
}

/// Announces that inputs could not be added.
fn drop_inputs(context: &AgentContext<'_>, inputs: impl IntoIterator<Item = UserInput>) {
    for UserInput { id: input_id, .. } in inputs {
        context.listener.event(SessionEvent::InputDropped { input_id });
    }
}

/// Adds an input of a user or a task to the conversation and announces it.
async fn take_input(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    input: UserInput,
) -> Result<(), SessionLogError> {
    let input_id = input.id;
    let added = conversation.push_input(input).await?;
    context.listener.event(SessionEvent::InputTaken { input_id });
    added.iter().for_each(|message| announce(context.listener, message));
    Ok(())
}

/// Describes why the work ended without a yield after an answer without tool calls.
fn describe_missing_yield(stop: StopReason) -> String {
    match stop {
        StopReason::Length => "its answer was too long, and was cut off before a yield",
        // The calls of an answer have their results, which it would have been asked to read.
        StopReason::ToolUse => "it paused, and did not go on to a yield",
        StopReason::Stop | StopReason::Error | StopReason::Aborted => "it ended without a yield",
    }
    .to_owned()
}

/// Asks the model until it answers, and what can be asked in its place where it cannot be had. The answer
/// is added to the conversation.
async fn ask(
    conversation: &mut Conversation,
    context: &mut AgentContext<'_>,
    choice: ToolChoice,
) -> Result<AssistantMessage, AgentEnd> {
    let change = context.model.client.choose_route();
    let mut fallback = apply_route_change(conversation, context, change).await?;
    loop {
        let failed = match ask_route(conversation, context, choice.clone()).await? {
            Ok(message) => {
                if let Some(model) = fallback {
                    context.listener.event(SessionEvent::RetryFallbackSucceeded { model });
                }
                return Ok(message);
            }
            Err(failed) => failed,
        };
        let Some(change) = context.model.client.fall_back(&failed) else {
            let failure = context.model.client.routes.failure(failed.failure);
            return Err(AgentEnd::Failed(failure));
        };
        fallback = apply_route_change(conversation, context, Some(change)).await?;
    }
}

/// Records that another model, or another key, is asked from now on, and announces it. Returns the name
/// of the model if it is asked in place of another one.
async fn apply_route_change(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    change: Option<RouteChange>,
) -> Result<Option<String>, SessionLogError> {
    let Some(RouteChange { from, to, model, why }) = change else { return Ok(None) };
    match (&model, &why) {
        (Some(model), Some(_)) => conversation.change_to_fallback(model).await?,
        (Some(model), None) => conversation.change_model(model).await?,
        (None, _) => {}
    }
    let current = context.model.client.routes.current().info().route.to_string();
    match (why, model) {
        (Some(Failure { message: error_message, .. }), _) => {
            let applied = SessionEvent::RetryFallbackApplied { from, to, error_message };
            context.listener.event(applied);
            return Ok(Some(current));
        }
        (None, Some(_)) => context.listener.event(SessionEvent::ModelChange { model: current }),
        (None, None) => {}
    }
    Ok(None)
}

/// Sends a request by the current route and waits for the complete answer, which is added to the
/// conversation, or for its failure, which is added to the log only.
async fn ask_route(
    conversation: &mut Conversation,
    context: &AgentContext<'_>,
    choice: ToolChoice,
) -> Result<Result<AssistantMessage, FailedRequest>, AgentEnd> {
    let messages = request_messages(conversation.messages.clone());
    let (route, preferred) =
        (&context.model.client.routes.current().info().route, &context.model.route);
    let thinking = match route.name() == preferred.name() {
        true => preferred.thinking,
        false => route.thinking.or(preferred.thinking),
    };
    let request = ModelRequest {
        session: conversation.session,
        system: conversation.system.clone(),
        messages,
        tools: context.declarations(),
        choice,
        options: RequestOptions { thinking, ..RequestOptions::default() },
    };
    if let Some(listener) = &context.request_hooks.listener {
        listener(&request);
    }
    let clock = Arc::clone(&conversation.clock);
    let events = AnswerEvents::new(context.listener, clock.as_ref(), &context.model.client);
    let progress = |progress: Progress<'_>| events.progress(&progress);
    match context.unless_aborted(context.model.client.ask(&request, &progress)).await {
        Some(Ok(message)) => match conversation.push_answer(&message).await {
            Ok(message) => {
                events.end(&message);
                Ok(Ok(message))
            }
            Err(error) => {
                events.end(&lost_answer(message, &error));
                Err(error.into())
            }
        },
        Some(Err(failed)) => {
            events.end(&failed.partial);
            conversation.usage.used = conversation.usage.used + failed.partial.usage;
            conversation.log_failed_answer(failed.partial.clone()).await?;
            Ok(Err(failed))
        }
        None => {
            let provider = context.model.client.routes.current();
            let (has_started, content) = (events.has_started(), events.take_partial());
            let usage = match has_started {
                true => aborted_usage(provider.as_ref(), &request, &content),
                false => Usage::ZERO,
            };
            let partial = conversation.aborted_answer(provider.info(), content, usage);
            events.end(&partial);
            conversation.log_failed_answer(partial).await?;
            Err(AgentEnd::Aborted)
        }
    }
}

/// Returns the message for an answer that could not be written to the log. Its calls are not run.
fn lost_answer(mut message: AssistantMessage, error: &SessionLogError) -> AssistantMessage {
    message.content.retain(|part| !matches!(part, Part::ToolCall(_)));
    let error_message = Some(error.to_failure().message);
    AssistantMessage { stop_reason: StopReason::Error, error_message, ..message }
}

#[cfg(test)]
mod tests;

//! The steps of a session.

use proptest::prelude::*;
use protocol::{
    AssistantMessage, BashExecution, Content, EntryId, InputId, Message, Part, SessionEntry,
    SessionId, SessionMessage, StopReason, Timestamp, TitleSource, ToolCall, ToolResult, Usage,
};
use serde_json::{Value, json};

/// A step of a session. Numbers choose among the entries that are there.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Add(Added),
    /// Gives an entry a name, or takes it away.
    Label(u16, Option<u8>),
    Compact(Kept, u8),
    GoTo(u16, Left),
    /// Goes on before all entries.
    Restart(Left),
    /// Goes to an entry that is not there.
    GoAstray,
    Reload,
    Fork,
    Branch(u16),
}

/// What a compaction keeps.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kept {
    Nothing,
    From(u16),
    /// An entry that is not there.
    Unknown,
}

/// What is said about a branch that is left.
#[derive(Clone, Copy, Debug)]
pub(super) enum Left {
    Untold,
    Empty,
    Summary,
}

/// An entry that refers to no other.
#[derive(Clone, Debug)]
pub(super) enum Added {
    Prompt(u8),
    Long,
    Image(u8),
    Answer(u8, Option<u8>),
    Call(u8),
    /// One with an odd number is an error.
    Result(u8),
    Command,
    Note(u8),
    State,
    Model(u8, bool),
    Think(Option<u8>),
    Tier(Option<u8>),
    Mode(Option<u8>),
    Rules(u8),
    Tools(u8),
    Init,
    Title(u8),
    Name(Option<u8>),
    Hologram(u8),
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let kept = prop_oneof![
        1 => Just(Kept::Nothing),
        4 => any::<u16>().prop_map(Kept::From),
        1 => Just(Kept::Unknown),
    ];
    let left = || prop_oneof![Just(Left::Untold), Just(Left::Empty), Just(Left::Summary)];
    prop_oneof![
        24 => added().prop_map(Step::Add),
        3 => any::<(u16, Option<u8>)>().prop_map(|(target, name)| Step::Label(target, name)),
        4 => (kept, any::<u8>()).prop_map(|(kept, number)| Step::Compact(kept, number)),
        6 => (any::<u16>(), left()).prop_map(|(to, left)| Step::GoTo(to, left)),
        2 => left().prop_map(Step::Restart),
        1 => Just(Step::GoAstray),
        3 => Just(Step::Reload),
        2 => Just(Step::Fork),
        2 => any::<u16>().prop_map(Step::Branch),
    ]
}

fn added() -> impl Strategy<Value = Added> {
    let few = || 0..3_u8;
    let maybe = || proptest::option::of(0..3_u8);
    let talk = prop_oneof![
        12 => any::<u8>().prop_map(Added::Prompt),
        1 => Just(Added::Long),
        2 => any::<u8>().prop_map(Added::Image),
        6 => (few(), maybe()).prop_map(|(model, failed)| Added::Answer(model, failed)),
        2 => few().prop_map(Added::Call),
        2 => any::<u8>().prop_map(Added::Result),
        1 => Just(Added::Command),
        2 => any::<u8>().prop_map(Added::Note),
    ];
    let state = prop_oneof![
        1 => Just(Added::State),
        2 => (few(), any::<bool>()).prop_map(|(model, has_role)| Added::Model(model, has_role)),
        2 => maybe().prop_map(Added::Think),
        1 => maybe().prop_map(Added::Tier),
        3 => maybe().prop_map(Added::Mode),
        1 => few().prop_map(Added::Rules),
        1 => few().prop_map(Added::Tools),
        1 => Just(Added::Init),
        1 => few().prop_map(Added::Title),
        1 => maybe().prop_map(Added::Name),
        1 => few().prop_map(Added::Hologram),
    ];
    prop_oneof![talk, state]
}

impl Added {
    pub(super) fn entry(&self, at: Timestamp) -> SessionEntry {
        let text = |number: &Option<u8>| number.map(|number| number.to_string());
        match self {
            Self::Prompt(number) => input(*number, Content::text(format!("say {number}")), at),
            Self::Long => SessionEntry::message(Message::user("long ".repeat(101_000), at)),
            Self::Image(number) => input(*number, image(*number), at),
            Self::Answer(model, failed) => answer(*model, *failed, Part::text("well"), at),
            Self::Call(model) => {
                let (id, name) = ("call".to_owned(), "read".to_owned());
                let (arguments, malformed, thought_signature) = (fields(*model), None, None);
                let call = ToolCall { id, name, arguments, malformed, thought_signature };
                answer(*model, None, Part::ToolCall(call), at)
            }
            Self::Result(number) => result(*number, at),
            Self::Command => command(at),
            Self::Note(number) => SessionEntry::CustomMessage {
                custom_type: "note".to_owned(),
                content: vec![Content::text(format!("note {number}"))],
                display: number.is_multiple_of(2),
                details: Some(Value::Object(fields(*number))),
                attribution: None,
            },
            Self::State => SessionEntry::Custom { custom_type: "state".to_owned(), data: None },
            Self::Model(number, has_role) => SessionEntry::ModelChange {
                model: format!("p/{number}"),
                role: has_role.then(|| "smol".to_owned()),
            },
            Self::Think(level) => SessionEntry::ThinkingLevelChange { thinking_level: text(level) },
            Self::Tier(tier) => SessionEntry::ServiceTierChange { service_tier: text(tier) },
            Self::Mode(mode) => SessionEntry::ModeChange {
                mode: if mode.is_some() { "plan" } else { "none" }.to_owned(),
                data: mode.map(|number| Value::Object(fields(number))),
            },
            Self::Rules(number) => {
                SessionEntry::TtsrInjection { injected_rules: vec![format!("rule {number}")] }
            }
            Self::Tools(number) => SessionEntry::McpToolSelection {
                selected_tool_names: (0..*number).map(|tool| tool.to_string()).collect(),
            },
            Self::Init => SessionEntry::SessionInit {
                system_prompt: "Work.".to_owned(),
                task: "Do it.".to_owned(),
                tools: vec!["read".to_owned()],
                output_schema: Some(json!({ "type": "object" })),
            },
            Self::Title(number) => SessionEntry::TitleChange {
                title: format!("title {number}"),
                source: Some(TitleSource::User),
            },
            Self::Name(name) => SessionEntry::SessionInfo { name: text(name) },
            Self::Hologram(number) => {
                let mut unknown = fields(*number);
                unknown.insert("type".to_owned(), "hologram".into());
                SessionEntry::Unknown(unknown)
            }
        }
    }
}

pub(super) fn compaction(kept: Option<EntryId>, number: u8) -> SessionEntry {
    let usage = Usage { input: number.into(), ..Usage::ZERO };
    let read = [format!("{number}.txt")];
    let details = json!({ "readFiles": read, "modifiedFiles": ["b.txt"], "usage": usage });
    SessionEntry::Compaction {
        summary: format!("summed {number}"),
        short_summary: None,
        first_kept_entry_id: kept,
        tokens_before: number.into(),
        details: number.is_multiple_of(2).then_some(details),
        preserve_data: None,
        from_extension: false,
    }
}

fn fields(number: u8) -> serde_json::Map<String, Value> {
    [("number".to_owned(), json!(number))].into_iter().collect()
}

fn input(number: u8, content: Content, at: Timestamp) -> SessionEntry {
    let said = protocol::UserMessage::new(vec![content], at);
    let input = InputId::of_limit(SessionId::of_text(&number.to_string()));
    let message = SessionMessage::Model(Message::User(said));
    SessionEntry::Message { message, input_id: number.is_multiple_of(2).then_some(input) }
}

/// Returns an image that a file has in a blob.
fn image(number: u8) -> Content {
    Content::Image { data: format!("{number:04}").repeat(300), mime_type: "image/png".to_owned() }
}

fn answer(model: u8, failed: Option<u8>, part: Part, at: Timestamp) -> SessionEntry {
    let stop_reason = match (failed, &part) {
        (Some(0), _) => StopReason::Error,
        (Some(1), _) => StopReason::Aborted,
        (_, Part::ToolCall(_)) => StopReason::ToolUse,
        (
            _,
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::RedactedThinking { .. }
            | Part::ServerTool { .. },
        ) => StopReason::Stop,
    };
    SessionEntry::message(Message::Assistant(AssistantMessage {
        content: vec![part],
        api: "openai-completions".to_owned(),
        provider: "p".to_owned(),
        model: model.to_string(),
        usage: Usage { input: model.into(), output: 1, ..Usage::ZERO },
        stop_reason,
        error_message: failed.map(|number| number.to_string()),
        timestamp: at,
    }))
}

fn result(number: u8, at: Timestamp) -> SessionEntry {
    SessionEntry::message(Message::ToolResult(ToolResult {
        tool_call_id: "call".to_owned(),
        tool_name: "read".to_owned(),
        content: vec![Content::text("what is there"), image(number)],
        details: Some(Value::Object(fields(number))),
        is_error: !number.is_multiple_of(2),
        pruned_at: None,
        timestamp: at,
    }))
}

fn command(at: Timestamp) -> SessionEntry {
    SessionEntry::message(SessionMessage::BashExecution(BashExecution {
        command: "ls".to_owned(),
        output: "a.txt\n".to_owned(),
        exit_code: Some(0),
        cancelled: false,
        truncated: false,
        full_output_path: None,
        meta: None,
        exclude_from_context: true,
        timestamp: at,
    }))
}

//! What the model was asked: one request, as it came over the wire.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::Wire;

/// One request for an answer.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The API it came over.
    pub wire: Wire,
    /// The whole body as it would have been over Chat Completions.
    pub body: Value,
    /// The whole body.
    pub native: Value,
    /// The body as it came.
    pub bytes: Vec<u8>,
    /// What it gives as its key.
    pub key: Option<String>,
    /// Each message, byte for byte.
    pub raw: Vec<String>,
}

/// What of a body has to be kept as it was written.
#[derive(Deserialize)]
struct Written<'body> {
    #[serde(borrow)]
    messages: Vec<&'body RawValue>,
}

impl Asked {
    /// Reads a request.
    ///
    /// # Errors
    /// Why it is none.
    pub fn read(bytes: &[u8], key: Option<String>) -> Result<Self, String> {
        let body: Value = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        let written: Written<'_> = serde_json::from_slice(bytes).map_err(|e| e.to_string())?;
        let raw = written.messages.into_iter().map(|message| message.get().to_owned()).collect();
        let (wire, native) = (Wire::Completions, body.clone());
        Ok(Self { wire, body, native, bytes: bytes.to_vec(), key, raw })
    }

    /// Returns the model that is asked.
    #[must_use]
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Returns the conversation.
    #[must_use]
    pub fn messages(&self) -> &[Value] {
        self.body["messages"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Returns what the user said first.
    #[must_use]
    pub fn prompt(&self) -> String {
        let user = self.messages().iter().find(|message| message["role"] == "user");
        user.map(text).unwrap_or_default()
    }

    /// Returns whether it asks for a summary of a conversation.
    #[must_use]
    pub fn is_summary(&self) -> bool {
        let system = self.messages().first().filter(|message| message["role"] == "system");
        system.is_some_and(|system| text(system).starts_with("You sum up a conversation"))
    }

    /// Returns the summary that it begins with, if it has one.
    #[must_use]
    pub fn summary(&self) -> Option<String> {
        Some(self.prompt().split_once("<summary>\n")?.1.to_owned())
    }

    /// Returns what the user said last, if that is the last thing said.
    #[must_use]
    pub fn reminder(&self) -> Option<String> {
        self.messages().last().filter(|message| message["role"] == "user").map(text)
    }

    /// Returns how many answers of the model it carries.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.messages().iter().filter(|message| message["role"] == "assistant").count()
    }

    /// Returns what tools said since the model's last answer.
    #[must_use]
    pub fn results(&self) -> Vec<String> {
        let messages = self.messages();
        let last = messages.iter().rposition(|message| message["role"] == "assistant");
        let since = &messages[last.map_or(0, |last| last + 1)..];
        since.iter().filter(|message| message["role"] == "tool").map(text).collect()
    }

    /// Returns what tools said since the model's last answer, as one text.
    #[must_use]
    pub fn result(&self) -> String {
        self.results().join("\n")
    }

    /// Returns the tools it may call.
    #[must_use]
    pub fn tools(&self) -> Vec<&str> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        tools.iter().filter_map(|tool| tool["function"]["name"].as_str()).collect()
    }

    /// Returns the tool that it has to call, where there is one.
    #[must_use]
    pub fn forced(&self) -> Option<&str> {
        self.body["tool_choice"]["function"]["name"].as_str()
    }
}

/// Returns the words of a message.
pub(super) fn text(message: &Value) -> String {
    match &message["content"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_read_with_its_messages_as_they_were_written() {
        let body = br#"{"model":"m","tool_choice":{"type":"function","function":{"name":"yield"}},
            "messages":[{"role":"user","content":"a"},{ "role" : "assistant","tool_calls":[]},
            {"role":"tool","content":"b"},{"role":"tool","content":[{"type":"text","text":"c"}]}]}"#;
        let asked = Asked::read(body, None).unwrap();
        assert_eq!(asked.raw[1], r#"{ "role" : "assistant","tool_calls":[]}"#);
        assert_eq!((asked.prompt().as_str(), asked.answers()), ("a", 1));
        assert_eq!(
            (asked.results(), asked.forced()),
            (vec!["b".into(), "c".into()], Some("yield"))
        );
        assert_eq!(asked.reminder(), None);
        assert!(Asked::read(b"{", None).is_err());
    }
}

//! The text of an error response: what it says to people, and the words by which it is classified.

use serde_json::Value;

/// The text of an error response.
pub(crate) struct ErrorBody {
    /// The human-readable message.
    pub(crate) message: String,
    /// All of the text, in lower case.
    all: String,
}

impl ErrorBody {
    pub(crate) fn of(body: &str) -> Self {
        let all = body.to_ascii_lowercase();
        let json: Option<Value> = serde_json::from_str(body).ok();
        let message = match &json {
            Some(json) => message(json).unwrap_or_else(|| json.to_string()),
            None if all.contains("<html") || all.contains("<!doctype") => title(body, &all),
            None => body.to_owned(),
        };
        Self { message: message.trim().to_owned(), all }
    }

    pub(crate) fn contains_any(&self, texts: &[&str]) -> bool {
        texts.iter().any(|text| self.all.contains(text))
    }

    /// Recognises `input token count (9) exceeds the maximum` and `exceeds the limit of 9`.
    pub(crate) fn exceeds_limit(&self) -> bool {
        let count = self.all.find("input token count");
        let counted = count.is_some_and(|at| self.all[at..].contains("exceeds the maximum"));
        let limit = self.all.split("exceeds the limit of ").nth(1);
        counted || limit.is_some_and(|rest| rest.starts_with(|it: char| it.is_ascii_digit()))
    }
}

/// Returns the human-readable message of an error body, if the body has a known structure.
fn message(json: &Value) -> Option<String> {
    let error = json.get("error").unwrap_or(json);
    // Some providers wrap the error in a list.
    let error = json.get(0).and_then(|first| first.get("error")).unwrap_or(error);
    let detail = error.get("metadata").and_then(|it| it.get("raw")).and_then(Value::as_str);
    let texts = [Some(error), error.get("message"), error.get("detail"), json.get("message")];
    let text = texts.into_iter().flatten().find_map(Value::as_str)?;
    Some(match detail {
        Some(detail) => format!("{text} ({detail})"),
        None => text.to_owned(),
    })
}

/// Returns the title of an HTML page.
fn title(body: &str, lower: &str) -> String {
    let begin = lower.find("<title>").map(|at| at + "<title>".len());
    let end = begin.and_then(|begin| lower[begin..].find("</title>").map(|at| begin + at));
    let title = begin.zip(end).and_then(|(begin, end)| body.get(begin..end));
    title.unwrap_or("a page of HTML").to_owned()
}

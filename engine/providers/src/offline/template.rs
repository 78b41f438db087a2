//! Text with placeholders: `{{name}}` stands for the variable of that name, `{{{{` for two braces.

use std::collections::BTreeMap;

/// A text with placeholders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template(Vec<Segment>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    Text(String),
    Name(String),
}

/// Why a text with placeholders cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    #[error("a placeholder has no end: `{{{{` without `}}}}` (two braces are written `{{{{{{{{`)")]
    Open,
    #[error("`{0}` is not the name of a variable: it may contain letters, digits and `_` only")]
    Name(String),
}

impl Template {
    /// Parses a text with placeholders.
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut segments = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            plain.push_str(&rest[..at]);
            rest = &rest[at + 2..];
            if let Some(after) = rest.strip_prefix("{{") {
                plain.push_str("{{");
                rest = after;
                continue;
            }
            let (name, after) = rest.split_once("}}").ok_or(TemplateError::Open)?;
            let name = name.trim();
            if !is_name(name) {
                return Err(TemplateError::Name(name.chars().take(40).collect()));
            }
            if !plain.is_empty() {
                segments.push(Segment::Text(std::mem::take(&mut plain)));
            }
            segments.push(Segment::Name(name.to_owned()));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            segments.push(Segment::Text(plain));
        }
        Ok(Self(segments))
    }

    /// Returns the names of the placeholders.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|bit| match bit {
            Segment::Name(name) => Some(name.as_str()),
            Segment::Text(_) => None,
        })
    }

    /// Returns the text with the placeholders replaced by the values of the variables.
    pub(crate) fn fill(&self, variables: &BTreeMap<String, String>) -> String {
        let segments = self.0.iter().map(|bit| match bit {
            Segment::Text(text) => text.as_str(),
            Segment::Name(name) => variables.get(name).map_or("", String::as_str),
        });
        segments.collect()
    }
}

/// Returns whether this is a valid name of a variable.
pub(crate) fn is_name(name: &str) -> bool {
    let letter = |it: char| it.is_ascii_alphanumeric() || it == '_';
    !name.is_empty() && name.len() <= 40 && name.chars().all(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let remembered = [("nonce", "n1"), ("x", "{{nonce}}")];
        let remembered = remembered.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Template::parse(text).unwrap().fill(&BTreeMap::from(remembered))
    }

    #[test]
    fn placeholders_are_filled_once_and_braces_can_be_said() {
        let cases = [
            ("", ""),
            ("a {{nonce}}, {{ x }}!", "a n1, {{nonce}}!"),
            ("{ } {{{{nonce}} }}", "{ } {{nonce}} }}"),
            ("{{{{{{nonce}}}}", "{{n1}}"),
        ];
        for (text, expected) in cases {
            assert_eq!(filled(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_placeholder_is_refused() {
        assert_eq!(Template::parse("a {{b"), Err(TemplateError::Open));
        assert_eq!(Template::parse("{{}}"), Err(TemplateError::Name(String::new())));
        assert_eq!(Template::parse("{{a b}}"), Err(TemplateError::Name("a b".to_owned())));
        let shown = TemplateError::Open.to_string();
        assert_eq!(
            shown,
            "a placeholder has no end: `{{` without `}}` (two braces are written `{{{{`)"
        );
    }

    #[test]
    fn placeholders_are_known_by_name() {
        let template = Template::parse("{{a}} {{{{b}} {{c}}").unwrap();
        assert_eq!(template.names().collect::<Vec<_>>(), ["a", "c"]);
    }
}

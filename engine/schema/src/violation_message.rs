//! Describes each violation of a schema in one line: where it is, and what was expected.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use protocol::is_unseen;
use serde_json::Value;

/// The maximum number of characters of a line, and of a value quoted in it.
const LINE: usize = 240;
const QUOTE: usize = 60;

/// The maximum number of options of a list that are quoted.
const NAMES: usize = 5;

/// How many levels of nested alternatives are described.
const ALTERNATIVES: usize = 4;

/// Describes `error`, with a line for each violation in the value: its JSON pointer and what is wrong
/// there.
pub(crate) fn lines(error: &ValidationError<'_>) -> Vec<String> {
    let violations = violations(error, ALTERNATIVES);
    violations
        .into_iter()
        .map(|(place, what)| cut(&format!("{}: {what}", display_pointer(&place)), LINE))
        .collect()
}

/// Returns the violations behind an error, as JSON pointers with a description.
fn violations(error: &ValidationError<'_>, depth: usize) -> Vec<(String, String)> {
    let at = error.instance_path().as_str().to_owned();
    match error.kind() {
        Kind::Required { property } => {
            vec![(below(&at, property.as_str().unwrap_or_default()), "is missing".to_owned())]
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            unexpected
                .iter()
                .map(|name| (below(&at, name), "is not one of the properties there are".to_owned()))
                .collect()
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            alternatives(at, context, depth)
        }
        Kind::PropertyNames { error } => {
            let why = violations(error, depth.saturating_sub(1));
            let why = why.first().map_or("is not allowed", |(_, what)| what.as_str());
            let name = quote(error.instance());
            vec![(at, format!("the name {name} of a property {why}"))]
        }
        // If the schema names no properties, the validator does not report the unexpected one.
        Kind::FalseSchema if is_about_properties(error) => {
            vec![(at, "must have no properties".to_owned())]
        }
        kind => vec![(at, leaf(kind, error.instance()))],
    }
}

fn is_about_properties(error: &ValidationError<'_>) -> bool {
    let keyword = "/additionalProperties";
    error.schema_path().as_str().ends_with(keyword)
        && !error.instance_path().as_str().ends_with(keyword)
}

/// Describes a value that matches none of several schemas: the violations of the schema with the
/// fewest of them.
fn alternatives(
    at: String,
    context: &[Vec<ValidationError<'static>>],
    depth: usize,
) -> Vec<(String, String)> {
    let count = context.len();
    let types: Option<Vec<_>> = context.iter().map(|errors| expected_type(errors, &at)).collect();
    if let Some(types) = types.filter(|types| !types.is_empty()) {
        return vec![(at, format!("must be {}", types.join(" or ")))];
    }
    // The author of the value hardly meant an alternative of another type.
    let meant: Vec<_> =
        context.iter().filter(|errors| expected_type(errors, &at).is_none()).collect();
    let nearest = meant.iter().min_by_key(|errors| errors.len());
    let Some(nearest) = nearest.filter(|_| depth > 0) else {
        return vec![(at, format!("matches none of the {count} alternatives"))];
    };
    let mut lines = Vec::new();
    if meant.len() > 1 {
        lines.push((at, format!("matches none of the {count} alternatives; for the nearest")));
    }
    lines.extend(nearest.iter().flat_map(|error| violations(error, depth - 1)));
    lines
}

/// Returns the type that one alternative expects, if the wrong type is its only violation.
fn expected_type(errors: &[ValidationError<'static>], at: &str) -> Option<String> {
    match errors {
        [error] if error.instance_path().as_str() == at => match error.kind() {
            Kind::Type { kind } => Some(types(kind)),
            _ => None,
        },
        _ => None,
    }
}

/// Describes what is wrong with a value as a whole.
fn leaf(kind: &Kind, found: &Value) -> String {
    match kind {
        Kind::Type { kind } => format!("must be {}, not {}", types(kind), named(found)),
        Kind::Constant { expected_value } => {
            format!("must be {}, not {}", quote(expected_value), quote(found))
        }
        Kind::Enum { options } => format!("must be {}, not {}", one_of(options), quote(found)),
        Kind::Maximum { limit } => format!("must be at most {limit}, not {}", quote(found)),
        Kind::Minimum { limit } => format!("must be at least {limit}, not {}", quote(found)),
        Kind::ExclusiveMaximum { limit } => {
            format!("must be less than {limit}, not {}", quote(found))
        }
        Kind::ExclusiveMinimum { limit } => {
            format!("must be more than {limit}, not {}", quote(found))
        }
        Kind::MultipleOf { multiple_of } => {
            format!("must be a multiple of {multiple_of}, not {}", quote(found))
        }
        Kind::MaxLength { limit } => format!("must have at most {limit} characters"),
        Kind::MinLength { limit } => format!("must have at least {limit} characters"),
        Kind::MaxItems { limit } => format!("must have at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("must have at most {limit} items"),
        Kind::UnevaluatedItems { .. } => "has more items than there may be".to_owned(),
        Kind::MinItems { limit } => format!("must have at least {limit} items"),
        Kind::MaxProperties { limit } => format!("must have at most {limit} properties"),
        Kind::MinProperties { limit } => format!("must have at least {limit} properties"),
        Kind::UniqueItems => "has the same item twice".to_owned(),
        Kind::Contains => "has too few or too many items of the kind it must contain".to_owned(),
        Kind::Pattern { pattern } => {
            format!("must match the pattern {}, which {} does not", escaped(pattern), quote(found))
        }
        Kind::Format { format } => {
            format!("must have the format {}, which {} has not", escaped(format), quote(found))
        }
        Kind::ContentEncoding { content_encoding } => {
            format!("must be encoded as {}", escaped(content_encoding))
        }
        Kind::ContentMediaType { content_media_type } => {
            format!("must hold {}", escaped(content_media_type))
        }
        Kind::FalseSchema => "must not be there".to_owned(),
        Kind::Not { schema } => format!("must not match {}", quote(schema)),
        Kind::OneOfMultipleValid { context } => {
            format!("matches more than one of the {} alternatives", context.len())
        }
        Kind::BacktrackLimitExceeded { .. } | Kind::RegexEngineFailure { .. } => {
            "cannot be held against the pattern, which is too much work".to_owned()
        }
        Kind::Referencing(error) => {
            format!(
                "{}; only references inside the schema are followed",
                escaped(&error.to_string())
            )
        }
        Kind::Custom { message, .. } => escaped(message),
        Kind::FromUtf8 { .. } => "is not UTF-8 once decoded".to_owned(),
        // `violations` handles these kinds before it calls this function.
        Kind::Required { .. }
        | Kind::AdditionalProperties { .. }
        | Kind::UnevaluatedProperties { .. }
        | Kind::AnyOf { .. }
        | Kind::OneOfNotValid { .. }
        | Kind::PropertyNames { .. } => "does not match".to_owned(),
    }
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(kind) => with_article(*kind).to_owned(),
        TypeKind::Multiple(kinds) => {
            let names: Vec<_> = kinds.iter().map(with_article).collect();
            names.join(" or ")
        }
    }
}

fn with_article(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "an array",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "an integer",
        JsonType::Null => "null",
        JsonType::Number => "a number",
        JsonType::Object => "an object",
        JsonType::String => "a string",
    }
}

/// Names a value of the wrong type: the value if it is short, else its type.
fn named(found: &Value) -> String {
    match found {
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::String(text) if text.chars().count() > 20 => "a string".to_owned(),
        Value::String(_) => format!("the string {}", quote(found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => quote(found),
    }
}

fn one_of(options: &Value) -> String {
    let Some(options) = options.as_array() else { return quote(options) };
    let shown: Vec<_> = options.iter().take(NAMES).map(quote).collect();
    let more = if options.len() > NAMES { ", …" } else { "" };
    if shown.len() == 1 { shown.concat() } else { format!("one of {}{more}", shown.join(", ")) }
}

/// Formats a value as shortened JSON, with all control characters escaped.
fn quote(value: &Value) -> String {
    cut(&escaped(&value.to_string()), QUOTE)
}

/// Returns the pointer to the property `name` of the object at `at`.
fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// Formats a pointer for a message.
fn display_pointer(pointer: &str) -> String {
    if pointer.is_empty() { "the value".to_owned() } else { cut(&escaped(pointer), LINE / 2) }
}

/// Escapes control and bidirectional characters.
fn escaped(text: &str) -> String {
    text.chars()
        .flat_map(|letter| escape(letter).into_iter().flatten().chain(plain(letter)))
        .collect()
}

fn escape(letter: char) -> Option<std::char::EscapeUnicode> {
    is_unseen(letter).then(|| letter.escape_unicode())
}

fn plain(letter: char) -> Option<char> {
    (!is_unseen(letter)).then_some(letter)
}

fn cut(text: &str, length: usize) -> String {
    match text.char_indices().nth(length) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

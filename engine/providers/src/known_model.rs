//! What is known about the model of an endpoint, beside its name.

use std::num::NonZeroU32;

use protocol::ThinkingLevel::{self, High, Low, Medium, Off};
use protocol::ThinkingMode;

use crate::history::Images;
use crate::model_facts::ModelFacts;

/// What is known about a model, by the catalogue or its user. It goes before what the name of the
/// model says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct KnownModel {
    /// Whether it thinks.
    pub(crate) thinks: Option<bool>,
    /// The levels of thinking that it has; empty if they are not known.
    pub(crate) levels: Vec<ThinkingLevel>,
    /// How a request states how much to think.
    pub(crate) mode: Option<ThinkingMode>,
    /// How many tokens it can write in one answer.
    pub(crate) output: Option<NonZeroU32>,
    /// Whether it sees images.
    pub(crate) images: Option<Images>,
}

/// The levels of a model that thinks and of which nothing else is known: those that most have.
const USUAL: &[ThinkingLevel] = &[Low, Medium, High];

impl KnownModel {
    /// Returns what `facts` say.
    pub(crate) fn of(facts: &ModelFacts) -> Self {
        let levels = facts.thinking_levels();
        let thinks = match levels.as_slice() {
            [Off] => Some(false),
            [] => facts.thinking,
            [_, ..] => Some(true),
        };
        let output = facts.output.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
        let images = facts.images.map(|sees| if sees { Images::Seen } else { Images::Replaced });
        Self {
            thinks,
            levels,
            mode: facts.thinking_mode,
            output: output.and_then(NonZeroU32::new),
            images,
        }
    }

    /// Returns the levels of the model, where its name says that they are `named`; `None` if it does
    /// not think.
    pub(crate) fn levels_or<'a>(
        &'a self,
        named: Option<&'a [ThinkingLevel]>,
    ) -> Option<&'a [ThinkingLevel]> {
        match (self.thinks, self.levels.as_slice()) {
            (Some(false), _) => None,
            (Some(true) | None, known @ [_, ..]) => Some(known),
            (Some(true), []) => Some(named.unwrap_or(USUAL)),
            (None, []) => named,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(text: &str) -> KnownModel {
        KnownModel::of(&serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_is_known_goes_before_what_the_name_says() {
        let named: Option<&[ThinkingLevel]> = Some(&[High]);
        let cases: [(&str, [Option<&[ThinkingLevel]>; 2]); 5] = [
            ("{}", [None, named]),
            (r#"{ "thinking": true }"#, [Some(USUAL), named]),
            (r#"{ "thinking": false, "levels": ["low"] }"#, [None, None]),
            (r#"{ "levels": ["low"] }"#, [Some(&[Low]), Some(&[Low])]),
            (r#"{ "thinking": true, "levels": ["off"] }"#, [None, None]),
        ];
        for (facts, expected) in cases {
            let known = known(facts);
            assert_eq!([known.levels_or(None), known.levels_or(named)], expected, "{facts}");
        }
    }

    #[test]
    fn the_limit_and_the_images_of_a_model_are_those_of_its_facts() {
        let blind = known(r#"{ "output": 4096, "images": false, "thinkingMode": "budget" }"#);
        assert_eq!(blind.output.map(NonZeroU32::get), Some(4096));
        assert_eq!(
            (blind.images, blind.mode),
            (Some(Images::Replaced), Some(ThinkingMode::Budget))
        );
        assert_eq!(known(r#"{ "images": true }"#).images, Some(Images::Seen));
        assert_eq!(known("{}"), KnownModel::default());
    }
}

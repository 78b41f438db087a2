//! Names that were replaced by the standard terms of the field, and must not come back.

use super::workspace::sources;

/// Types, traits and modules by these names said nothing to a new reader, or meant several things.
const REPLACED: &str = "\
    House Means Teller Ear Feed Members Left Patience Withdrawal Equipment Visit Ground Workforce \
    Played Stage Wishes Surroundings Skill Consent Picture Trouble Hands Nudge Opening Came Said \
    Exhausted Spent Repeats Voice Piece Place Scope Step Scribes Claim Frozen Doubtful Fold \
    Workbench Toolbox Spared Loose Standing Bury Life";

/// The same, of functions and modules.
const REPLACED_VERBS: &str = "\
    hear tell told shown sow roll stake inherit errand birth rehearse strike gather visit play \
    obey doing verdict complaint unbuilt patience words terms hearing spread extent ways trial \
    theatre memory desk news add_late";

#[test]
fn no_declaration_has_a_name_that_was_replaced() {
    let replaced: Vec<_> = REPLACED.split(' ').chain(REPLACED_VERBS.split(' ')).collect();
    let mut found = Vec::new();
    for source in sources().iter().filter(|source| !source.is_test()) {
        let declared = source.production().lines().filter_map(declared);
        let names = declared.filter(|name| replaced.contains(name));
        found.extend(names.map(|name| format!("{}: {name}", source.path.display())));
    }
    assert_eq!(found, Vec::<String>::new());
}

/// Returns the name that a line declares.
fn declared(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| {
        word.starts_with("pub") || ["async", "const", "unsafe", "in", "super)"].contains(word)
    });
    let kind = words.next()?;
    let is_item = ["struct", "enum", "trait", "type", "fn", "mod"].contains(&kind);
    let name = words.next().filter(|_| is_item)?;
    name.split(|letter: char| letter != '_' && !letter.is_alphanumeric()).next()
}

#[test]
fn a_declaration_is_told_from_a_use() {
    assert_eq!(declared("pub(crate) struct House;"), Some("House"));
    assert_eq!(declared("    async fn hear<T>(&self)"), Some("hear"));
    assert_eq!(declared("mod desk;"), Some("desk"));
    assert_eq!(declared("let house = House::new();"), None);
    assert_eq!(declared("use house::Desk;"), None);
}

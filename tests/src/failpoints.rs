//! The names of the failpoints in the source of the product.

use std::collections::BTreeSet;
use std::path::Path;

/// The folders of the product's crates.
const PRODUCT: [&str; 4] = ["actors/src", "cli/src", "engine", "isolation/src"];

/// Returns the name of each failpoint whose name is written out where it is. Those of tools and jobs
/// are put together.
///
/// # Panics
/// The source cannot be read.
#[must_use]
pub fn names() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut found = BTreeSet::new();
    for folder in PRODUCT {
        names_below(&root.join(folder), &mut found);
    }
    found
}

fn names_below(folder: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder can be read").path();
        if path.is_dir() {
            names_below(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file is text");
            let production = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
            found.extend(production.split("failpoint!(").skip(1).filter_map(name));
        }
    }
}

/// Returns the last argument of a call of the macro, if it is a literal.
fn name(call: &str) -> Option<String> {
    let (arguments, _) = call.split_once(')')?;
    let literal = arguments.split_once(", ")?.1.trim();
    let literal = literal.strip_suffix(',').unwrap_or(literal);
    Some(literal.strip_prefix('"')?.strip_suffix('"')?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_last_argument_of_a_call() {
        let calls =
            ["self.faults, \"a.b\")?;", "faults, name.begin());", "faults, &format!(\"x\"))"];
        assert_eq!(calls.map(name), [Some("a.b".to_owned()), None, None]);
    }
}

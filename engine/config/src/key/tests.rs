//! Keys of other programs lead to those here.

use super::*;

#[test]
fn a_key_of_another_program_leads_to_the_one_here() {
    for (other, key) in SYNONYMS {
        assert!(Key::find(key).is_some() || Key::is_group(key), "{key}");
        assert!(Key::find(other).is_none() && !Key::is_group(other), "{other}");
        assert_eq!(Key::nearest(other), Some(key));
    }
}

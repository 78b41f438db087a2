//! Each job of an actor has a name of its own, by which a test makes it panic.

use std::collections::BTreeMap;
use std::path::Path;

use actors::Job;

use super::workspace::sources;

#[test]
fn each_name_of_a_job_is_given_to_one_job() {
    let all = sources();
    let actors = all.iter().filter(|source| source.path.starts_with(Path::new("actors/src")));
    let mut given: BTreeMap<String, usize> = BTreeMap::new();
    for source in actors {
        for rest in source.production().split("Job::").skip(1) {
            let name = rest.chars().take_while(|letter| letter.is_alphanumeric()).collect();
            *given.entry(name).or_default() += 1;
        }
    }
    let once = Job::ALL.iter().map(|job| (format!("{job:?}"), 1)).collect();
    assert_eq!(given, once);
}

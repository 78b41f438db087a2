//! An agent gets no more than its caller has, and a project only lowers limits.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use super::*;

const TOOLS: [&str; 12] = [
    "read",
    "grep",
    "find",
    "bash",
    "job",
    "write",
    "edit",
    "apply_patch",
    "task",
    "yield",
    "mcp__a__b",
    "own",
];

/// Random numbers, the same in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }

    fn tools(&mut self) -> Vec<String> {
        TOOLS.iter().filter(|_| self.below(2) == 0).map(|it| (*it).to_owned()).collect()
    }
}

fn agent(tools: Option<&[&str]>, denied: &[&str], spawns: Spawns) -> AgentDefinition {
    let owned = |names: &[&str]| names.iter().map(|it| (*it).to_owned()).collect();
    AgentDefinition {
        name: "it".to_owned(),
        description: "Does it.".to_owned(),
        prompt: String::new(),
        tools: tools.map(owned),
        denied_tools: owned(denied),
        spawns,
        models: Vec::new(),
        thinking: None,
        output: None,
        isolated: None,
        apply: None,
        max_turns: None,
        limits: AgentLimits::default(),
        source: AgentSource::Project,
        family: None,
        path: None,
        mapped: Vec::new(),
        warnings: Vec::new(),
    }
}

#[test]
fn an_agent_never_has_a_tool_that_its_caller_lacks() {
    let mut random = Random(5);
    let mut given = 0;
    for _ in 0..2_000 {
        let (tools, denied, caller) = (random.tools(), random.tools(), random.tools());
        let tools = (random.below(4) > 0).then_some(tools);
        let spawns = [Spawns::None, Spawns::Any, Spawns::Only(vec!["a".to_owned()])];
        let spawns = spawns[random.below(3)].clone();
        let denied = if random.below(2) == 0 { Vec::new() } else { denied };
        let agent = AgentDefinition { tools, denied_tools: denied, ..agent(None, &[], spawns) };
        let had = agent.tools_for(&caller);
        given += had.len() - 1;
        for tool in &had {
            assert!(caller.contains(tool) || tool == "yield", "{agent:?} {caller:?} {had:?}");
            assert!(!agent.denied_tools.contains(tool) || tool == "yield", "{agent:?} {had:?}");
        }
        assert_eq!(had.iter().filter(|it| *it == "yield").count(), 1);
        assert!(agent.spawns != Spawns::None || !had.contains(&"task".to_owned()));
        let mut sorted = had.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), had.len());
    }
    assert!(given > 1_000);
}

#[test]
fn a_list_of_tools_means_those_that_do_the_same_work() {
    let caller = ["read", "apply_patch", "bash", "job", "task", "write"];
    let caller = caller.map(str::to_owned);
    let any = || Spawns::Any;
    for (tools, denied, spawns, expected) in [
        (None, &[][..], any(), "read apply_patch bash job task write yield"),
        (None, &[], Spawns::None, "read apply_patch bash job write yield"),
        (None, &["edit", "bash"], any(), "read task write yield"),
        (Some(&["edit"][..]), &[], Spawns::None, "apply_patch yield"),
        (Some(&["bash"]), &[], Spawns::None, "bash job yield"),
        (Some(&["read"]), &[], any(), "read task yield"),
        (Some(&["task"]), &[], Spawns::None, "yield"),
        (Some(&["read", "task"]), &["task"], any(), "read yield"),
        (Some(&[]), &[], Spawns::None, "yield"),
        (Some(&["fetch"]), &[], Spawns::None, "yield"),
        (Some(&["read", "report_finding"]), &[], Spawns::None, "read report_finding yield"),
    ] {
        let agent = agent(tools, denied, spawns);
        assert_eq!(agent.tools_for(&caller).join(" "), expected, "{agent:?}");
    }
}

#[test]
fn a_project_only_lowers_limits_and_a_user_sets_them() {
    let usual = TaskLimits { tokens: Some(1_000), ..TaskLimits::default() };
    let limits = |agent: &AgentDefinition| agent.limits_for(&usual);
    let more = AgentLimits {
        wall: Some(Duration::from_secs(7_200)),
        output: Some(usual.output + 1),
        tokens: NonZeroU64::new(5_000),
        cost: Some(Cost::from_nanodollars(7)),
    };
    let project = AgentDefinition {
        max_turns: NonZeroU32::new(500),
        limits: more,
        ..agent(None, &[], Spawns::None)
    };
    // Where there was no limit, any is lower.
    assert_eq!(limits(&project), TaskLimits { cost: more.cost, ..usual });
    let user = AgentDefinition { source: AgentSource::User, ..project };
    let expected = TaskLimits {
        wall: Duration::from_secs(7_200),
        output: usual.output + 1,
        turns: NonZeroU32::new(500).unwrap(),
        tokens: Some(5_000),
        cost: more.cost,
    };
    assert_eq!(limits(&user), expected);
    let less = AgentDefinition {
        max_turns: NonZeroU32::new(3),
        source: AgentSource::Project,
        limits: AgentLimits { wall: Some(Duration::from_secs(1)), ..AgentLimits::default() },
        ..user
    };
    let turns = NonZeroU32::new(3).unwrap();
    assert_eq!(limits(&less), TaskLimits { wall: Duration::from_secs(1), turns, ..usual });
}

#[test]
fn a_path_that_is_not_utf8_is_no_error_in_json() {
    use std::os::unix::ffi::OsStringExt as _;
    let path = PathBuf::from(std::ffi::OsString::from_vec(b"/a\xff.md".to_vec()));
    let limits = AgentLimits { wall: Some(Duration::from_secs(2)), ..AgentLimits::default() };
    let warning = AgentWarning { path: path.clone(), line: None, message: String::new() };
    let agent = AgentDefinition {
        path: Some(path),
        limits,
        warnings: vec![warning],
        ..agent(None, &[], Spawns::None)
    };
    let document = serde_json::to_value(&agent).unwrap();
    assert_eq!(document["path"], "/a\u{fffd}.md");
    assert_eq!(document["limits"], serde_json::json!({ "wall_ms": 2_000 }));
}

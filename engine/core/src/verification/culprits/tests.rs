use super::*;

/// What fails: a set of tasks that holds all tasks of one of these groups.
#[derive(Clone, Debug, Default)]
struct Failing(Vec<BTreeSet<usize>>);

impl Failing {
    fn fails(&self, tasks: &[usize]) -> bool {
        self.0.iter().any(|group| group.iter().all(|task| tasks.contains(task)))
    }

    /// Returns what lands if one task after the other is tried.
    fn one_by_one(&self, needs: &[BTreeSet<usize>], landed: usize) -> Vec<usize> {
        let mut passing: Vec<usize> = (0..landed).collect();
        for (task, needed) in needs.iter().enumerate().skip(landed) {
            let mut tried = passing.clone();
            tried.push(task);
            let builds_on_passing = needed.iter().all(|on| passing.contains(on));
            if builds_on_passing && !self.fails(&tried) {
                passing = tried;
            }
        }
        passing.split_off(landed)
    }
}

fn independent(count: usize) -> Vec<BTreeSet<usize>> {
    vec![BTreeSet::new(); count]
}

/// How many verifications of each kind a search has asked for.
#[derive(Debug, Default)]
struct Asked {
    searches: usize,
    again: usize,
    starts: usize,
}

fn search(
    needs: &[BTreeSet<usize>],
    landed: usize,
    mut verify: impl FnMut(&[usize]) -> Verdict,
) -> (Decision, Asked, usize) {
    let (mut search, mut asked) = (CulpritSearch::new(needs.to_vec(), landed), Asked::default());
    while let Some(question) = search.question() {
        assert!(search.decision().is_none());
        assert!(question.tasks.is_sorted(), "{question:?}");
        for task in &question.tasks {
            assert!(needs[*task].iter().all(|on| question.tasks.contains(on)), "{question:?}");
        }
        match question.purpose {
            Purpose::Whole | Purpose::Search => asked.searches += 1,
            Purpose::Again => asked.again += 1,
            Purpose::Start => asked.starts += 1,
        }
        assert!(asked.searches + asked.again < 2000, "the search does not end");
        search.answer(verify(&question.tasks));
    }
    (search.decision().unwrap().clone(), asked, search.flaky())
}

fn log2(count: usize) -> usize {
    (0..).find(|power| 1_usize << power >= count).unwrap()
}

/// Searches, and checks that exactly the right tasks are to blame, within the bound.
fn check(failing: &Failing, needs: &[BTreeSet<usize>], landed: usize) -> Vec<Culprit> {
    let verify = |tasks: &[usize]| match failing.fails(tasks) {
        true => Verdict::Failed,
        false => Verdict::Passed,
    };
    let (decision, asked, flaky) = search(needs, landed, verify);
    let Decision::Lands { passing, culprits } = decision else { panic!("{decision:?}") };
    assert_eq!(passing, failing.one_by_one(needs, landed), "{failing:?}");
    assert_eq!(flaky, 0);
    // The last verification of everything that is left passes.
    let named: usize = culprits.iter().map(|culprit| 1 + culprit.with.len()).sum();
    let bound = named * (2 * log2(needs.len()) + 1) + 1;
    assert!(asked.searches <= bound, "{asked:?} of {bound}: {failing:?} {culprits:?}");
    assert!(asked.again <= culprits.len() + 1, "{asked:?}");
    assert_eq!(asked.starts, usize::from(!culprits.is_empty()));
    culprits
}

#[test]
fn every_set_of_culprits_and_pairs_of_a_few_tasks_is_found() {
    for count in 1..=5_usize {
        let mut groups: Vec<BTreeSet<usize>> = (0..count).map(|one| [one].into()).collect();
        for one in 0..count {
            groups.extend((one + 1..count).map(|other| BTreeSet::from([one, other])));
        }
        for chosen in 0..1_usize << groups.len() {
            let is_chosen = |at: &usize| chosen & 1 << at != 0;
            let failing = (0..groups.len()).filter(is_chosen).map(|at| groups[at].clone());
            let failing = Failing(failing.collect());
            for culprit in check(&failing, &independent(count), 0) {
                // A task that fails alone has no partner, another one has a partner that has landed.
                let alone = failing.fails(&[culprit.task]);
                assert_eq!(culprit.with.is_empty(), alone, "{failing:?} {culprit:?}");
                let with = culprit.with.iter().all(|with| failing.fails(&[*with, culprit.task]));
                assert!(with, "{failing:?} {culprit:?}");
            }
        }
    }
}

/// A small generator of numbers.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

#[test]
fn random_groups_dependencies_and_landed_tasks_are_decided_within_the_bound() {
    for seed in 0..3000 {
        let mut numbers = Numbers(seed);
        let count = 1 + numbers.below(64);
        let landed = if numbers.below(4) == 0 { numbers.below(count) } else { 0 };
        let mut needs = independent(count);
        if numbers.below(2) == 0 {
            for task in 1..count {
                if numbers.below(3) == 0 {
                    let on = numbers.below(task);
                    needs[task] = needs[on].clone();
                    needs[task].insert(on);
                }
            }
        }
        let mut failing = Failing::default();
        for _ in 0..numbers.below(6) {
            let size = 1 + numbers.below(3);
            let group: BTreeSet<_> = (0..size).map(|_| numbers.below(count)).collect();
            // What has landed passes.
            if group.iter().any(|task| *task >= landed) {
                failing.0.push(group);
            }
        }
        check(&failing, &needs, landed);
    }
}

#[test]
fn one_verification_is_enough_if_everything_passes_and_none_if_there_is_nothing() {
    let passes = |_: &[usize]| Verdict::Passed;
    let (decision, asked, _) = search(&independent(40), 0, passes);
    assert_eq!(decision, Decision::Lands { passing: (0..40).collect(), culprits: Vec::new() });
    assert_eq!((asked.searches, asked.again, asked.starts), (1, 0, 0));
    let (decision, asked, _) = search(&independent(3), 3, passes);
    assert_eq!(decision, Decision::Lands { passing: Vec::new(), culprits: Vec::new() });
    assert_eq!(asked.searches, 0);
}

#[test]
fn a_start_that_fails_twice_is_not_blamed_on_a_task() {
    let (decision, asked, _) = search(&independent(8), 0, |_| Verdict::Failed);
    assert_eq!(decision, Decision::StartFails(4));
    assert_eq!((asked.searches, asked.again, asked.starts), (1, 2, 1));
}

#[test]
fn no_task_is_blamed_for_one_failure_that_does_not_happen_again() {
    // One verification fails by chance, whichever it is, besides those that fail for a reason.
    for failing in [vec![], vec![[3].into()], vec![[2, 9].into()], vec![[1].into(), [4, 8].into()]]
    {
        let failing = Failing(failing);
        for chance in 0..40 {
            let mut asked = 0;
            let verify = |tasks: &[usize]| {
                asked += 1;
                match failing.fails(tasks) || asked == chance {
                    true => Verdict::Failed,
                    false => Verdict::Passed,
                }
            };
            let (decision, _, _) = search(&independent(12), 0, verify);
            let Decision::Lands { passing, .. } = decision else { panic!("{decision:?}") };
            let wanted = failing.one_by_one(&independent(12), 0);
            assert_eq!(passing, wanted, "{failing:?}, verification {chance} by chance");
        }
    }
}

#[test]
fn of_tasks_that_fail_only_together_all_are_named_up_to_a_number() {
    for count in [8, 32] {
        for one in 0..count {
            for other in one + 1..count {
                for third in other..count {
                    let group = BTreeSet::from([one, other, third]);
                    let failing = Failing(vec![group.clone()]);
                    let culprits = check(&failing, &independent(count), 0);
                    let [Culprit { task, with, partners, .. }] = culprits.as_slice() else {
                        panic!("{culprits:?}")
                    };
                    let named: BTreeSet<_> = with.iter().chain([task]).copied().collect();
                    assert_eq!((&named, *partners), (&group, Partners::All));
                    assert!(with.is_sorted(), "{culprits:?}");
                }
            }
        }
    }
    for (size, partners) in [(6, Partners::All), (7, Partners::More), (20, Partners::More)] {
        let group: BTreeSet<usize> = (0..size).map(|task| task * 3).collect();
        let culprits = check(&Failing(vec![group.clone()]), &independent(64), 0);
        assert_eq!((culprits.len(), culprits[0].partners), (1, partners), "{culprits:?}");
        assert_eq!(culprits[0].with.len(), 5);
        assert!(culprits[0].with.iter().all(|with| group.contains(with)), "{culprits:?}");
    }
}

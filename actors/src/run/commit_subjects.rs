//! Asks a model for the subjects of the commits of a run before it lands on branches. Where it gives
//! none, the commit keeps the one that is made of the title of its task, which is announced.

use std::sync::Arc;
use std::time::Duration;

use engine::landing::{
    CHANGE_LIMIT, LedgerWriter as _, SUBJECT_SYSTEM, checked_subject, subject_prompt, with_subject,
};
use engine::ports::{
    Baseline, CacheRetention, CancelToken, LandingRequest, LandingTarget, LandingTask,
    ModelRequest, RequestOptions, Requester, ToolChoice,
};
use engine::request::{ModelClient, Routes};
use futures_util::StreamExt as _;
use protocol::{
    CommitSubjects, EventKind, LedgerEntry, Message, ModelRoute, Part, RunName, TaskId,
    TaskLanding, TaskSpec, Usage,
};
use ractor::ActorRef;

use super::landing_ports::RunRecords;
use super::messages::RunMessage;
use super::state::RunState;
use crate::deps::Deps;
use crate::isolation::RepositoryMessage;
use crate::messaging::{Notifier, answer};
use crate::tokio_timer::RuntimeTimer;

/// How long one answer may take, with everything that it waits for.
const ANSWER_DEADLINE: Duration = Duration::from_secs(60);

/// How many subjects are asked for at the same time.
const AT_ONCE: usize = 8;

/// Asks for the subjects of the commits of one landing.
pub(super) struct SubjectWriter {
    run: RunName,
    model: Option<ModelRoute>,
    client: Result<ModelClient, String>,
    /// The tasks of the run, with what their models have used.
    tasks: Vec<(TaskSpec, Option<Usage>)>,
    repository: ActorRef<RepositoryMessage>,
    deps: Arc<Deps>,
    cancel: CancelToken,
    events: Notifier<EventKind>,
}

/// What was asked for one commit.
struct Asked {
    task: TaskId,
    at: usize,
    /// `None` if the task has made commits itself, whose subjects stay.
    subject: Option<Result<String, String>>,
    usage: Option<Usage>,
}

impl RunState {
    /// Returns what asks for the subjects of the commits of a landing, if a model writes them.
    pub(super) fn subject_writer(&self, myself: &ActorRef<RunMessage>) -> Option<SubjectWriter> {
        let CommitSubjects::Model { model } = &self.arguments.spec.commits else { return None };
        let deps = self.arguments.deps.clone();
        let provider = match model {
            Some(model) => deps.models.open(model).map_err(|failure| failure.message),
            None => Err("the setting modelRoles.smol names no model".to_owned()),
        };
        let client = provider.map(|provider| ModelClient {
            routes: Routes::only(provider),
            gate: Arc::clone(&self.arguments.gate),
            requester: Requester::Run(self.arguments.name.clone()),
            timer: Arc::new(RuntimeTimer::start()),
            clock: Arc::clone(&deps.clock),
            policy: deps.policy.requests,
        });
        let tasks = self.machine.record().tasks().iter();
        let used = |task: &engine::task::TaskRecord| task.usage.as_deref().copied();
        Some(SubjectWriter {
            run: self.arguments.name.clone(),
            model: model.clone(),
            client,
            tasks: tasks.map(|task| (task.spec.clone(), used(task))).collect(),
            repository: self.arguments.repository.clone(),
            deps,
            cancel: self.landing.clone(),
            events: Notifier::to(myself, RunMessage::TaskEvent),
        })
    }
}

impl SubjectWriter {
    /// Puts the subjects into the request, except for work that is held. What they have used is
    /// recorded before the work lands.
    pub(super) async fn write(
        &self,
        request: &mut LandingRequest,
        held: &[TaskLanding],
        records: &RunRecords,
    ) {
        if request.target == LandingTarget::Tree {
            return;
        }
        let is_held = |task: &LandingTask| held.iter().any(|held| held.task == task.task);
        let open: Vec<_> = request.tasks.iter().enumerate().collect();
        let open = open.into_iter().filter(|(_, task)| !is_held(task));
        let asked: Vec<Asked> = match &self.client {
            Err(why) => return self.announce(open.count(), why),
            Ok(client) => {
                let run = self.run.clone();
                let question = |reply| RepositoryMessage::Baseline(run, reply);
                let Some(baseline) = answer(&self.repository, question).await else {
                    return self.announce(open.count(), "the snapshot of the run is gone");
                };
                let ask = |(at, task): (usize, &LandingTask)| {
                    let task = task.clone();
                    let baseline = Arc::clone(&baseline);
                    async move { self.ask(client, baseline.as_ref(), at, &task).await }
                };
                let asked = open.map(ask).collect::<Vec<_>>();
                let asked = futures_util::stream::iter(asked).buffered(AT_ONCE);
                asked.filter_map(std::future::ready).collect().await
            }
        };
        let (mut failed, mut why) = (0, None);
        for Asked { task, at, subject, usage } in asked {
            if let Some(usage) = usage {
                // If the ledger is gone, the landing does not begin.
                let _recorded = records.record(LedgerEntry::TaskUsed { task, usage }).await;
            }
            match subject {
                Some(Ok(subject)) => {
                    let message = &mut request.tasks[at].message;
                    *message = with_subject(message, &subject);
                }
                Some(Err(because)) => {
                    failed += 1;
                    why.get_or_insert(because);
                }
                None => {}
            }
        }
        if let Some(why) = why {
            self.announce(failed, &why);
        }
    }

    async fn ask(
        &self,
        client: &ModelClient,
        baseline: &dyn Baseline,
        at: usize,
        landing: &LandingTask,
    ) -> Option<Asked> {
        let (spec, used) = self.tasks.iter().find(|(spec, _)| spec.name == landing.task)?;
        let task = spec.id;
        let change = match baseline.change_text(&landing.capture, CHANGE_LIMIT).await {
            Ok(Some(change)) => change,
            Ok(None) => return Some(Asked { task, at, subject: None, usage: None }),
            Err(error) => {
                let why = error.to_failure().message;
                return Some(Asked { task, at, subject: Some(Err(why)), usage: None });
            }
        };
        let prompt = Message::user(subject_prompt(spec, &change), self.deps.clock.now());
        let question = ModelRequest {
            session: self.deps.ids.session(),
            system: Arc::from(SUBJECT_SYSTEM),
            messages: vec![Arc::new(prompt)],
            tools: Arc::from(Vec::new()),
            choice: ToolChoice::Free,
            options: RequestOptions { cache: CacheRetention::None, ..RequestOptions::default() },
        };
        let asked = tokio::time::timeout(ANSWER_DEADLINE, client.ask(&question, &|_progress| {}));
        let answer = tokio::select! {
            answer = asked => answer,
            () = self.cancel.cancelled() => return None,
        };
        let (subject, usage) = match answer {
            Err(_elapsed) => {
                let why = format!("it gave no answer within {} s", ANSWER_DEADLINE.as_secs());
                (Err(why), None)
            }
            Ok(Ok(message)) => {
                let texts = message.content.iter().filter_map(|part| match part {
                    Part::Text { text, .. } => Some(text.as_str()),
                    _ => None,
                });
                let text: String = texts.collect();
                (checked_subject(&text).map_err(str::to_owned), Some(message.usage))
            }
            Ok(Err(failed)) => (Err(failed.failure.message), Some(failed.partial.usage)),
        };
        let usage = usage.map(|usage| used.map_or(usage, |used| used + usage));
        Some(Asked { task, at, subject: Some(subject), usage })
    }

    /// Announces that commits keep the subjects that are made of the titles of their tasks.
    fn announce(&self, commits: usize, why: &str) {
        if commits == 0 {
            return;
        }
        let by = self.model.as_ref().map_or_else(|| "a model".to_owned(), ToString::to_string);
        let what = match commits {
            1 => "the subject of one commit is".to_owned(),
            commits => format!("the subjects of {commits} commits are"),
        };
        self.events.notify(EventKind::Degraded {
            from: format!("subjects of commits by {by}"),
            to: format!("{what} made of the title of the task"),
            why: why.to_owned(),
        });
    }
}

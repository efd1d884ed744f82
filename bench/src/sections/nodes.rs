//! Appends, decisions and messages on one node and on three, in PostgreSQL, beside one node on SQLite.
//!
//! The nodes are runtimes in this process, each with its own connections. They meet only in the database.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures::StreamExt;
use holdpoint_protocol::{
    ids::ChatId,
    request::{ChatRequest, DecisionRequest},
};
use holdpoint_runtime::{
    Next, Runtime, Subject, View,
    clock::Timestamp,
    log::{Append, AppendId, AppendResult, Head, HoldChanges, Ownership, Store},
    turn::Answered,
};

use crate::{
    measure::{Effort, Samples},
    plot::{Line, Plot},
    report::{Report, Unit},
    world::{Database, Engine, Filled, Kind, Scripted, TALK, Templates, start},
};

/// How many operations are in flight at a time, and how many are made at that in one round.
const LOADS: [(usize, usize); 3] = [(1, 40), (16, 240), (64, 480)];
/// The size of an append.
const PAYLOAD: &[u8] = &[b' '; 300];
const ASLEEP_TIMEOUT: Duration = Duration::from_secs(60);

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    /// An append of 300 bytes through the log, to a chat that no other append goes to at the time.
    Append,
    /// A decision, to its answer. The rate includes the rest of the turn: the tool, the model, the outcome.
    Decision,
    /// A message in a new chat, to the end of its response.
    Message,
}

impl Work {
    const ALL: [Self; 3] = [Self::Append, Self::Decision, Self::Message];

    fn name(self) -> &'static str {
        match self {
            Self::Append => "appends",
            Self::Decision => "decisions",
            Self::Message => "messages",
        }
    }
}

/// One of the setups that are compared.
struct Setup {
    name: &'static str,
    nodes: Vec<(Arc<dyn Store>, Runtime)>,
    /// Open approval requests, not decided yet.
    held: Vec<Filled>,
    /// The number of operations so far.
    done: usize,
    /// The rounds of each work and each load.
    rounds: Vec<(Work, usize, Round)>,
    _database: Database,
}

/// The result of one round.
#[derive(Debug, Clone)]
struct Round {
    /// Operations per second.
    rate: f64,
    /// Of each operation, in microseconds.
    latencies: Vec<f64>,
}

pub(super) fn run(effort: &Effort) -> Report {
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    tokio.block_on(measure(effort))
}

async fn measure(effort: &Effort) -> Report {
    let rounds = if effort.is_quick { 2 } else { 7 };
    let engines = Engine::all(None);
    let mut setups = vec![Setup::new("SQLite", &engines[0], 1, rounds).await];
    if let Some(postgres) = engines.get(1) {
        setups.push(Setup::new("PostgreSQL, 1 node", postgres, 1, rounds).await);
        setups.push(Setup::new("PostgreSQL, 3 nodes", postgres, 3, rounds).await);
    }
    // Interleaved, so that a busy moment of the machine affects all alike.
    for _ in 0..rounds {
        for work in Work::ALL {
            for (in_flight, count) in LOADS {
                for setup in &mut setups {
                    setup.round(work, in_flight, count).await;
                }
            }
        }
    }
    let mut report = Report::default();
    for work in Work::ALL {
        for (in_flight, _) in LOADS {
            rows(&setups, work, in_flight, &mut report);
        }
    }
    if let Some(folder) = &effort.plots {
        for work in Work::ALL {
            plot(&setups, work).write(folder, &format!("nodes-{}", work.name()));
        }
    }
    for setup in setups {
        for (_, node) in setup.nodes {
            node.shutdown(Duration::from_secs(10)).await;
        }
    }
    report
}

fn rows(setups: &[Setup], work: Work, in_flight: usize, report: &mut Report) {
    let sqlite = &setups[0];
    for setup in setups {
        let what = format!("{}, {in_flight} in flight: {}", setup.name, work.name());
        report.sampled(what, Unit::Rate, &setup.rates(work, in_flight), None);
        let latencies = setup.latencies(work, in_flight);
        report.exact("… latency, p50", Unit::Micros, latencies.median(), None);
        report.exact("… latency, p99", Unit::Micros, latencies.highest(), None);
        if setup.name != sqlite.name {
            let times = setup.rates(work, in_flight).times(&sqlite.rates(work, in_flight));
            report.sampled("… as a multiple of SQLite: in a second", Unit::Times, &times, None);
            let times = setup.medians(work, in_flight).times(&sqlite.medians(work, in_flight));
            report.sampled("… as a multiple of SQLite: latency, p50", Unit::Times, &times, None);
        }
    }
}

fn plot(setups: &[Setup], work: Work) -> Plot {
    let lines = setups.iter().map(|setup| Line {
        name: setup.name.to_owned(),
        points: LOADS
            .iter()
            .map(|(in_flight, _)| (*in_flight as f64, setup.rates(work, *in_flight).median()))
            .collect(),
    });
    Plot {
        title: format!("{} in a second", work.name()),
        x: "in flight".to_owned(),
        y: "in a second".to_owned(),
        lines: lines.collect(),
    }
}

impl Setup {
    async fn new(name: &'static str, engine: &Engine, nodes: usize, rounds: usize) -> Self {
        let database = engine.database();
        let mut started = Vec::new();
        for _ in 0..nodes {
            let log = database.open().await;
            let node = start(Arc::clone(&log), Arc::<Scripted>::default(), 0).await;
            started.push((log, node));
        }
        let count = rounds * LOADS.iter().map(|(_, count)| count).sum::<usize>();
        let each = |number: usize| (Kind::Approval, Subject::from(&*format!("person-{:06}", number / 100)));
        let held = Templates::play().await.fill(&*started[0].0, count, |_| true, each).await;
        database.analyze();
        Self { name, nodes: started, held, done: 0, rounds: Vec::new(), _database: database }
    }

    async fn round(&mut self, work: Work, in_flight: usize, count: usize) {
        let first = self.done;
        self.done += count;
        let mut held = if work == Work::Decision { self.held.split_off(self.held.len() - count) } else { Vec::new() };
        let begun = Instant::now();
        let tasks = (first..self.done).map(|number| {
            let (log, node) = self.nodes[number % self.nodes.len()].clone();
            let held = held.pop();
            async move { tokio::spawn(one(work, number, log, node, held)).await.expect("it is taken") }
        });
        let latencies: Vec<f64> = futures::stream::iter(tasks).buffer_unordered(in_flight).collect().await;
        while self.nodes.iter().any(|(_, node)| node.admin().awake() > 0) {
            assert!(begun.elapsed() < ASLEEP_TIMEOUT, "a chat stays awake");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let rate = count as f64 / begun.elapsed().as_secs_f64();
        self.rounds.push((work, in_flight, Round { rate, latencies }));
    }

    fn of(&self, work: Work, in_flight: usize) -> impl Iterator<Item = &Round> {
        self.rounds.iter().filter(move |round| (round.0, round.1) == (work, in_flight)).map(|(_, _, round)| round)
    }

    fn rates(&self, work: Work, in_flight: usize) -> Samples {
        Samples(self.of(work, in_flight).map(|round| round.rate).collect())
    }

    fn latencies(&self, work: Work, in_flight: usize) -> Samples {
        Samples(self.of(work, in_flight).flat_map(|round| round.latencies.iter().copied()).collect())
    }

    /// The median latency of each round.
    fn medians(&self, work: Work, in_flight: usize) -> Samples {
        Samples(self.of(work, in_flight).map(|round| Samples(round.latencies.clone()).median()).collect())
    }
}

/// One operation. Returns its latency in microseconds.
async fn one(work: Work, number: usize, log: Arc<dyn Store>, node: Runtime, held: Option<Filled>) -> f64 {
    let begun = Instant::now();
    match work {
        Work::Append => {
            let results = log.append_many(vec![append(number)]).await;
            assert!(matches!(results[..], [AppendResult::Committed { .. }]), "{results:?}");
        }
        Work::Decision => {
            let Filled { subject, approval, .. } = held.expect("enough holds");
            let decision = DecisionRequest::from(true);
            let answered = node.inbox(&subject).decide(approval.expect("an approval request"), decision).await;
            assert_eq!(answered, Ok(Answered::Taken));
        }
        Work::Message => {
            let subject = Subject::from(&*format!("writer-{}", number / 100));
            let request = ChatRequest::user(&*format!("new-{number}"), TALK);
            let (_, mut response) = node.submit(&subject, request, View::default()).await.expect("a turn");
            while response.read(&mut Vec::new()).await == Next::More {}
        }
    }
    begun.elapsed().as_secs_f64() * 1e6
}

fn append(number: usize) -> Append {
    let head = Head {
        subject: Subject::from("appender"),
        is_open: false,
        updated_at: Timestamp(number as u64),
        data: Bytes::from_static(b"{}"),
    };
    Append {
        chat: ChatId::from(&*format!("appended-{number}")),
        expected: 0,
        append_id: AppendId(1 + number as u128),
        count: 1,
        payload: Bytes::from_static(PAYLOAD),
        head,
        keys: Vec::new(),
        holds: HoldChanges::default(),
        ownership: Ownership::Release,
        digest: None,
        audit: Vec::new(),
        grants: Default::default(),
    }
}

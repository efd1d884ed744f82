//! What an operation costs as the log grows: with the number of chats, of turns in a chat, and of open holds.
//!
//! The logs of all sizes of a series are open at once and are sampled in turn, so that a busy moment falls on all.

mod round;
mod table;

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use holdpoint_protocol::ids::ChatId;
use holdpoint_runtime::Subject;
use round::{Spot, World};

use crate::{
    measure::Effort,
    report::{Report, Target, Unit},
    world::{Engine, Filled, Kind, LOOK, TALK, Templates},
};

/// The number of chats of a person, where there are many persons.
const CHATS_OF_ONE: usize = 100;
/// The turns that a round adds to a chat.
const TURNS_OF_ROUND: usize = 3;

/// What grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Series {
    /// Chats of one person, each with a turn that has ended.
    Chats,
    /// Turns of the one chat.
    Turns,
    /// Open holds, a hundred for each person.
    Holds,
    /// Open holds of one person. Those for the browser are all older than those for approval.
    HoldsOfOne,
}

impl Series {
    const ALL: [Self; 4] = [Self::Chats, Self::Turns, Self::Holds, Self::HoldsOfOne];

    fn name(self) -> &'static str {
        match self {
            Self::Chats => "chats of one person",
            Self::Turns => "turns of the chat",
            Self::Holds => "open holds, 100 a person",
            Self::HoldsOfOne => "open holds of one person",
        }
    }

    /// The name of its plot.
    fn file(self) -> &'static str {
        match self {
            Self::Chats => "chats",
            Self::Turns => "turns",
            Self::Holds => "holds",
            Self::HoldsOfOne => "holds-of-one",
        }
    }

    fn sizes(self, effort: &Effort) -> Vec<usize> {
        let (first, quick, usual, full) = match self {
            Self::Turns => (10, 100, 1_000, 10_000),
            // A server that lets one person have more open chats than the 10,000 of the default is not to be expected.
            Self::HoldsOfOne => (100, 1_000, 10_000, 100_000),
            Self::Chats | Self::Holds => (100, 1_000, 10_000, 1_000_000),
        };
        let last = if effort.is_quick {
            quick
        } else if effort.is_full {
            full
        } else {
            usual
        };
        std::iter::successors(Some(first), |size| Some(size * 10)).take_while(|size| *size <= last).collect()
    }
}

pub(super) fn run(effort: &Effort) -> Report {
    let tokio = tokio::runtime::Runtime::new().expect("a runtime");
    let mut report = Report::default();
    for engine in Engine::all(effort.engine) {
        for series in Series::ALL {
            let measured = AssertUnwindSafe(measure(effort, &engine, series, &mut report)).catch_unwind();
            if tokio.block_on(measured).is_err() {
                // What went wrong is on the standard error. The other series are still of use.
                let what = format!("{}, {}: it could not be measured", engine.name(), series.name());
                report.exact(what, Unit::Count, f64::NAN, Some(Target::AtMost(0.0)));
            }
        }
    }
    report
}

async fn measure(effort: &Effort, engine: &Engine, series: Series, report: &mut Report) {
    let rounds = if effort.is_quick { 5 } else { 31 };
    let starts = if effort.is_quick { 2 } else { 5 };
    let templates = Templates::play().await;
    let mut worlds = Vec::new();
    for size in series.sizes(effort) {
        let begun = std::time::Instant::now();
        let mut world = World::new(size, engine, size);
        world.start().await;
        world.spots = fill(&world, series, rounds, &templates).await;
        world.analyze();
        eprintln!("{}, {} {}: filled in {:.1} s", engine.name(), size, series.name(), begun.elapsed().as_secs_f64());
        worlds.push(world);
    }
    for round in 0..rounds {
        for world in &mut worlds {
            world.round(round).await;
        }
    }
    for _ in 0..starts {
        for world in &mut worlds {
            world.metrics().await;
        }
    }
    for world in &mut worlds {
        world.stop().await;
    }
    table::write(effort, engine, series, &worlds, report);
}

/// Fills a log. Returns where the rounds take place.
async fn fill(world: &World, series: Series, rounds: usize, templates: &Templates) -> Vec<Spot> {
    let (size, log) = (world.size, &**world.log());
    match series {
        Series::Chats => {
            let each = |_| (Kind::Ended, Subject::from("ann"));
            let step = (size / rounds).max(1);
            let filled = templates.fill(log, size, |number| number % step == 0, each).await;
            filled.into_iter().map(|Filled { chat, subject, .. }| Spot::playing(subject, chat)).collect()
        }
        Series::Turns => {
            // The chat grows by a tenth at most, or by one round.
            let chats = rounds.div_ceil((size / 10 / TURNS_OF_ROUND).max(1));
            let subject = Subject::from("ann");
            let mut spots = Vec::new();
            for number in 0..chats {
                let chat = ChatId::from(&*format!("long-{number}"));
                for turn in 0..size {
                    world.turn(&subject, &chat, if turn % 2 == 0 { TALK } else { LOOK }).await;
                }
                spots.push(Spot::playing(subject.clone(), chat));
            }
            spots
        }
        Series::Holds => {
            let each = |number: usize| {
                let kind = if number.is_multiple_of(2) { Kind::Approval } else { Kind::Browser };
                (kind, Subject::from(&*format!("person-{:06}", number / CHATS_OF_ONE)))
            };
            // Two neighbours, of the same person: one of each kind.
            let step = (size / 2 / rounds).max(1);
            let kept = templates.fill(log, size, |number| (number / 2) % step == 0, each).await;
            kept.chunks_exact(2).map(|pair| Spot::waiting(&pair[0], &pair[1])).collect()
        }
        Series::HoldsOfOne => {
            let each = |number: usize| {
                let kind = if number < size / 2 { Kind::Browser } else { Kind::Approval };
                (kind, Subject::from("ann"))
            };
            let step = (size / 2 / rounds).max(1);
            let kept = templates.fill(log, size, |number| (number % (size / 2)) % step == 0, each).await;
            let (browser, approval) = kept.split_at(kept.len() / 2);
            browser.iter().zip(approval).map(|(acked, decided)| Spot::waiting(decided, acked)).collect()
        }
    }
}

impl Spot {
    /// In a chat in which nothing waits yet.
    fn playing(subject: Subject, chat: ChatId) -> Self {
        Self { subject, decided: chat.clone(), approval: None, acked: chat, call: None }
    }

    /// With an approval request and a call in the browser.
    fn waiting(decided: &Filled, acked: &Filled) -> Self {
        Self {
            subject: decided.subject.clone(),
            decided: decided.chat.clone(),
            approval: decided.approval.clone(),
            acked: acked.chat.clone(),
            call: Some(acked.call.clone()),
        }
    }
}

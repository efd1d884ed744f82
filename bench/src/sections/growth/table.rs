//! The results of a series: its table, its rule and its plot.

use std::fmt::Write;

use super::{
    Series,
    round::{Cost, Operation, World},
};
use crate::{
    measure::{Effort, Samples},
    plot::{Line, Plot},
    report::{Report, Target, Unit},
    world::Engine,
};

/// How much more an operation may cost at the largest size than at the smallest. Over four powers of ten this leaves
/// room for the depth of an index, and not for anything that grows with the size.
const FLAT: f64 = 2.0;

/// How an operation is judged in a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum By {
    Time,
    Cpu,
}

/// In a long chat, all that follows from an answer includes the model's request, which may grow: the answer is judged by
/// its time. Elsewhere the CPU time is, which the disk and other programs disturb less.
fn judged(series: Series, operation: Operation) -> By {
    match operation {
        Operation::MessageToModel | Operation::MessageFromModel => By::Time,
        Operation::Decision | Operation::Ack | Operation::Message if series == Series::Turns => By::Time,
        _ => By::Cpu,
    }
}

/// Whether it may grow in this series: the model is sent the whole conversation.
fn may_grow(series: Series, operation: Operation) -> bool {
    series == Series::Turns && matches!(operation, Operation::Message | Operation::MessageToModel)
}

fn samples(world: &World, operation: Operation, by: By) -> Samples {
    let number = |cost: Cost| if by == By::Time { cost.time } else { cost.cpu };
    Samples(world.costs(operation).map(number).collect())
}

pub(super) fn write(effort: &Effort, engine: &Engine, series: Series, worlds: &[World], report: &mut Report) {
    let (Some(first), Some(last)) = (worlds.first(), worlds.last()) else { return };
    let range = format!("{} to {}", first.size, last.size);
    for operation in Operation::ALL {
        let by = judged(series, operation);
        let (few, many) = (samples(first, operation, by).low(), samples(last, operation, by).low());
        let target = (!may_grow(series, operation)).then_some(Target::AtMost(FLAT));
        let what = format!("{}, {range} {}: {}", engine.name(), series.name(), operation.name());
        report.exact(what, Unit::Times, many / few, target);
    }
    report.after(&table(engine, series, worlds));
    let Some(folder) = &effort.plots else { return };
    let lines = Operation::ALL.into_iter().map(|operation| Line {
        name: operation.name().to_owned(),
        points: worlds
            .iter()
            .map(|world| (world.size as f64, samples(world, operation, judged(series, operation)).low() / 1e3))
            .collect(),
    });
    let kind = if series == Series::Turns { "time or CPU time" } else { "CPU time" };
    let plot = Plot {
        title: format!("{}: {}", engine.name(), series.name()),
        x: series.name().to_owned(),
        y: format!("{kind}, ms"),
        lines: lines.collect(),
    };
    plot.write(folder, &format!("growth-{}-{}", engine.name().to_lowercase(), series.file()));
}

/// Every number, as `CPU / time` in microseconds.
fn table(engine: &Engine, series: Series, worlds: &[World]) -> String {
    let mut text = format!("\n{}, {}; CPU / time in µs:\n\n| operation |", engine.name(), series.name());
    for world in worlds {
        let _ = write!(text, " {} |", world.size);
    }
    text.push_str(" judged by |\n| --- |");
    for _ in worlds {
        text.push_str(" ---: |");
    }
    text.push_str(" --- |\n");
    for operation in Operation::ALL {
        let _ = write!(text, "| {} |", operation.name());
        for world in worlds {
            let show = |by| {
                let low = samples(world, operation, by).low();
                if low.is_nan() { "-".to_owned() } else { format!("{low:.0}") }
            };
            let _ = write!(text, " {} / {} |", show(By::Cpu), show(By::Time));
        }
        let by = if judged(series, operation) == By::Cpu { "CPU" } else { "time" };
        let _ = writeln!(text, " {by} |");
    }
    text.push_str("| messages sent to the model |");
    for world in worlds {
        let _ = write!(text, " {} |", world.sent);
    }
    text.push_str(" |\n");
    text
}

//! Numbers, their targets, and the table of both.

use std::fmt;

use crate::measure::Samples;

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// Nanoseconds per operation.
    Nanos,
    /// Microseconds per operation.
    Micros,
    /// Megabytes per second.
    Speed,
    /// Operations per second.
    Rate,
    /// Megabytes.
    Size,
    /// Bytes.
    Bytes,
    /// A ratio.
    Times,
    /// A plain count.
    Count,
}

impl Unit {
    /// The representative number of many samples. Other programs on the machine can only make a sample worse, so it is
    /// the best decile; for a ratio, the median.
    fn of(self, samples: &Samples) -> f64 {
        match self {
            Unit::Nanos | Unit::Micros => samples.low(),
            Unit::Speed | Unit::Rate => samples.high(),
            Unit::Times | Unit::Size | Unit::Bytes | Unit::Count => samples.median(),
        }
    }

    fn show(self, number: f64) -> String {
        match self {
            Unit::Nanos => format!("{number:.0} ns"),
            Unit::Micros => format!("{number:.1} µs"),
            Unit::Speed => format!("{number:.0} MB/s"),
            Unit::Rate => format!("{number:.0}/s"),
            Unit::Size => format!("{number:.1} MB"),
            Unit::Bytes => format!("{number:.0} B"),
            Unit::Times => format!("{number:.1} ×"),
            Unit::Count => format!("{number:.2}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        }
    }
}

/// The target of a number.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Target {
    fn is_met(self, number: f64) -> bool {
        match self {
            Target::AtMost(limit) => number <= limit,
            Target::AtLeast(limit) => number >= limit,
        }
    }
}

struct Row {
    what: String,
    unit: Unit,
    number: f64,
    median: Option<f64>,
    target: Option<Target>,
}

/// The rows of one section.
#[derive(Default)]
pub(crate) struct Report {
    rows: Vec<Row>,
    after: String,
}

impl Report {
    /// Adds a sampled number.
    pub(crate) fn sampled(&mut self, what: impl Into<String>, unit: Unit, samples: &Samples, target: Option<Target>) {
        self.rows.push(Row {
            what: what.into(),
            unit,
            number: unit.of(samples),
            median: Some(samples.median()),
            target,
        });
    }

    /// Adds an exact number.
    pub(crate) fn exact(&mut self, what: impl Into<String>, unit: Unit, number: f64, target: Option<Target>) {
        self.rows.push(Row { what: what.into(), unit, number, median: None, target });
    }

    /// Adds text below the table.
    pub(crate) fn after(&mut self, text: &str) {
        self.after.push_str(text);
    }

    /// The rows that missed their target. A number that could not be measured has missed it too.
    pub(crate) fn missed(&self) -> impl Iterator<Item = &str> {
        self.rows
            .iter()
            .filter(|row| row.target.is_some_and(|target| !target.is_met(row.number)))
            .map(|row| row.what.as_str())
    }
}

/// A Markdown table that is readable as plain text.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = ["what", "number", "median", "target", ""].map(str::to_owned);
        let rows: Vec<[String; 5]> = std::iter::once(head).chain(self.rows.iter().map(cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        for (at, row) in rows.iter().enumerate() {
            for (cell, width) in row.iter().zip(widths) {
                write!(f, "| {cell:width$} ")?;
            }
            writeln!(f, "|")?;
            if at == 0 {
                for width in widths {
                    write!(f, "| {:-<1$} ", "", width.max(3))?;
                }
                writeln!(f, "|")?;
            }
        }
        f.write_str(&self.after)
    }
}

fn cells(row: &Row) -> [String; 5] {
    let show = |number| row.unit.show(number);
    let (target, verdict) = match row.target {
        Some(target) => {
            let shown = match target {
                Target::AtMost(limit) => format!("at most {}", show(limit)),
                Target::AtLeast(limit) => format!("at least {}", show(limit)),
            };
            (shown, if target.is_met(row.number) { "met" } else { "MISSED" })
        }
        None => (String::new(), ""),
    };
    let median = row.median.map(show).unwrap_or_default();
    [row.what.clone(), show(row.number), median, target, verdict.to_owned()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_target_is_told() {
        let mut report = Report::default();
        report.exact("fine", Unit::Count, 0.0, Some(Target::AtMost(0.0)));
        report.exact("free", Unit::Size, 5.0, None);
        report.sampled(
            "slow",
            Unit::Speed,
            &Samples((100..=150).map(f64::from).collect()),
            Some(Target::AtLeast(200.0)),
        );
        report.sampled("nothing", Unit::Nanos, &Samples(Vec::new()), Some(Target::AtMost(1.0)));
        assert_eq!(report.missed().collect::<Vec<_>>(), ["slow", "nothing"]);
        let table = report.to_string();
        assert!(table.contains("| 145 MB/s | 125 MB/s | at least 200 MB/s | MISSED |"), "{table}");
        assert_eq!(table.lines().count(), 6);
    }
}

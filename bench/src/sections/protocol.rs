//! `crates/protocol`: the cost of one chunk, and the speed of the checker.

use std::{hint::black_box, time::Instant};

use holdpoint_protocol::{
    check::{Checker, Options, StreamChecker},
    chunk::{Chunk, ReadChunk},
    reduce::{Reducer, Sdk},
    sse::{self, Decoder, Event},
};

use crate::{
    capture,
    measure::{Effort, Samples, Timed, allocations, resident_growth, time},
    plain,
    report::{Report, Target, Unit},
};

/// The size of one piece of a capture, as a file reader would read it.
const PIECE: usize = 64 * 1024;
const LIMIT: usize = 1024 * 1024;
const CAPTURE: usize = 100_000_000;

pub(super) fn run(effort: &Effort) -> Report {
    let mut report = Report::default();
    encode_text(effort, &mut report);
    decode_text(effort, &mut report);
    tool_output(effort, &mut report);
    reduce(effort, &mut report);
    let mixed = capture::capture(CAPTURE);
    check("checking 100 MB of whole turns", Some(200.0), mixed, effort, &mut report);
    let deltas = capture::capture_of_deltas(CAPTURE);
    check("checking 100 MB of nothing but text deltas", None, deltas, effort, &mut report);
    report
}

fn encode_text(effort: &Effort, report: &mut Report) {
    let chunks = capture::text_deltas();
    let plain = plain_deltas(&chunks);
    let mut out = Vec::with_capacity(PIECE);
    let mut encode = || {
        out.clear();
        for chunk in black_box(&chunks) {
            sse::encode(chunk, black_box(&mut out));
        }
    };
    let count = allocations(&mut encode).count as f64 / chunks.len() as f64;
    let plainly = || {
        for chunk in black_box(&plain) {
            black_box(plain::encode(chunk));
        }
    };
    let plain_count = allocations(plainly).count as f64 / plain.len() as f64;
    let times = time(effort, vec![Timed::new(chunks.len(), encode), Timed::new(plain.len(), plainly)]);
    report.sampled("text delta: encode into a buffer", Unit::Nanos, &times[0], Some(Target::AtMost(100.0)));
    report.exact("text delta: encode, allocations", Unit::Count, count, Some(Target::AtMost(0.0)));
    report.sampled("… the plain way: `to_vec` of a derived struct", Unit::Nanos, &times[1], None);
    report.exact("… the plain way, allocations", Unit::Count, plain_count, None);
    report.sampled("… the plain way takes", Unit::Times, &times[1].times(&times[0]), None);
}

fn plain_deltas(chunks: &[Chunk]) -> Vec<plain::TextDelta> {
    let deltas = chunks.iter().filter_map(|chunk| match chunk {
        Chunk::TextDelta(delta) => Some(plain::TextDelta { id: delta.id.to_string(), delta: delta.delta.clone() }),
        _ => None,
    });
    deltas.collect()
}

fn decode_text(effort: &Effort, report: &mut Report) {
    let chunks = capture::text_deltas();
    let events: Vec<Vec<u8>> = chunks.iter().map(|chunk| capture::encoded(std::slice::from_ref(chunk))).collect();
    let together = events.concat();

    // One event at a time, as from a network.
    let (mut decoder, mut checker) = (Decoder::new(LIMIT), StreamChecker::new(Options::default()));
    for chunk in capture::opening("message") {
        checker.chunk(0, &chunk);
    }
    let mut check = || {
        for event in black_box(&events) {
            decoder.feed(event, |event| {
                if let Event::Data { line, data } = event {
                    checker.payload(line, data);
                }
            });
        }
    };
    let count = allocations(&mut check).count as f64 / events.len() as f64;
    let decode = || {
        let mut decoder = Decoder::new(LIMIT);
        decoder.feed(black_box(&together), |event| {
            if let Event::Data { data, .. } = event {
                black_box(ReadChunk::parse(data).is_ok());
            }
        });
    };
    let plainly = || plain::decode(black_box(&together), |value| drop(black_box(value)));
    let times = time(
        effort,
        vec![Timed::new(events.len(), check), Timed::new(events.len(), decode), Timed::new(events.len(), plainly)],
    );
    assert_eq!(checker.take_violations(), [], "the deltas break no rule");
    report.sampled("text delta: decode and check", Unit::Nanos, &times[0], Some(Target::AtMost(450.0)));
    report.exact("text delta: decode and check, allocations", Unit::Count, count, None);
    report.sampled("text delta: decode only", Unit::Nanos, &times[1], None);
    report.sampled("… the plain way: lines and `serde_json::Value`", Unit::Nanos, &times[2], None);
    report.sampled("… the plain way takes", Unit::Times, &times[2].times(&times[1]), None);
}

fn tool_output(effort: &Effort, report: &mut Report) {
    let chunk = capture::tool_output("call-0");
    let event = capture::encoded(std::slice::from_ref(&chunk));
    let mut out = Vec::with_capacity(PIECE);
    let encode = || {
        out.clear();
        sse::encode(black_box(&chunk), black_box(&mut out));
    };
    let decode = || {
        let mut decoder = Decoder::new(LIMIT);
        decoder.feed(black_box(&event), |event| {
            if let Event::Data { data, .. } = event {
                black_box(ReadChunk::parse(data).is_ok());
            }
        });
    };
    let plainly = || plain::decode(black_box(&event), |value| drop(black_box(value)));
    let times = time(effort, vec![Timed::new(1, encode), Timed::new(1, decode), Timed::new(1, plainly)]);
    let size = event.len();
    report.sampled(format!("tool output of {size} bytes: encode"), Unit::Nanos, &times[0], None);
    report.sampled(format!("tool output of {size} bytes: decode"), Unit::Nanos, &times[1], None);
    report.sampled("… the plain way: lines and `serde_json::Value`", Unit::Nanos, &times[2], None);
}

fn reduce(effort: &Effort, report: &mut Report) {
    let chunks = capture::turn_of(1000);
    let reduce = || {
        let mut reducer = Reducer::new(Sdk::V7, "message".into());
        for chunk in black_box(&chunks) {
            reducer.apply(chunk).expect("a turn that breaks no rule");
        }
        black_box(reducer.into_message());
    };
    let times = time(effort, vec![Timed::new(1, reduce)]);
    report.sampled(
        format!("reducing a turn of {} chunks", chunks.len()),
        Unit::Micros,
        &times[0].map(|nanos| nanos / 1000.0),
        None,
    );
}

fn check(what: &str, target: Option<f64>, capture: Vec<u8>, effort: &Effort, report: &mut Report) {
    let check = || {
        let mut checker = Checker::new(Options::default());
        for piece in black_box(&capture).chunks(PIECE) {
            checker.feed(piece);
        }
        checker.finish();
        assert_eq!(checker.take_violations(), [], "the capture breaks no rule");
    };
    let mut counted = None;
    let resident = resident_growth(|| counted = Some(allocations(check)));
    let speeds = (0..effort.rounds).map(|_| {
        let begin = Instant::now();
        check();
        capture.len() as f64 / begin.elapsed().as_secs_f64() / 1e6
    });
    let speeds = Samples(speeds.collect());
    report.sampled(what, Unit::Speed, &speeds, target.map(Target::AtLeast));
    if let Some(counted) = counted {
        report.exact("… memory that it holds at most", Unit::Size, counted.peak / 1e6, None);
    }
    if let Some(resident) = resident {
        report.exact("… growth of the resident memory", Unit::Size, resident as f64 / 1e6, None);
    }
}

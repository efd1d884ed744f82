//! The rule checker: no input makes it panic, and the verdict does not depend on how the bytes are split, in any
//! profile.

#![no_main]

use holdpoint_fuzz::{cuts, hash};
use holdpoint_protocol::check::{Checker, Options, Profile, Rule, StreamChecker, Violation};
use libfuzzer_sys::fuzz_target;

const PROFILES: [Profile; 3] = [Profile::AiSdk, Profile::AdkSse, Profile::AdkLive];

fuzz_target!(|input: &[u8]| {
    // Splits and payloads behave the same in every profile. Which one is tested follows from the input.
    let chosen = hash(input) as usize;
    let progressive_text = chosen & 64 != 0;
    let [whole, bytes, pieces] = cuts(input);
    for profile in PROFILES {
        let options = Options { profile, progressive_text };
        let verdict = check(&whole, options);
        assert_eq!(verdict, check(&pieces, options), "{options:?}");
        if profile == PROFILES[chosen % 3] {
            assert_eq!(verdict, check(&bytes, options), "{options:?}");
            payloads(input, options);
        }
    }
});

/// The violations, and the part that could not be read.
fn check(pieces: &[&[u8]], options: Options) -> (Vec<Violation>, Option<String>) {
    let mut checker = Checker::new(options);
    let mut violations = Vec::new();
    for piece in pieces {
        checker.feed(piece);
        violations.extend(checker.take_violations());
    }
    checker.finish();
    violations.extend(checker.take_violations());
    (violations, checker.unreadable().map(ToString::to_string))
}

/// Each line as a separate payload. A leading space changes nothing, whichever path reads the payload; only the column
/// in the text of a JSON error may differ.
fn payloads(input: &[u8], options: Options) {
    let [plain, blank] = [&b""[..], b" "].map(|before| {
        let mut checker = StreamChecker::new(options);
        for (at, line) in input.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_prefix(b"data: ").unwrap_or(line);
            if line != b"[DONE]" {
                checker.payload(at as u64, &[before, line].concat());
            } else {
                checker.done(at as u64);
            }
        }
        checker.end();
        checker.take_violations().into_iter().map(told).collect::<Vec<_>>()
    });
    assert_eq!(plain, blank, "{options:?}");
}

fn told(violation: Violation) -> (u64, Rule, String) {
    let Violation { line, rule, mut text, .. } = violation;
    if rule == Rule::F3 {
        text.clear();
    }
    (line, rule, text)
}

//! Terminal output of these commands.

use std::fmt;
use std::io::IsTerminal;
use std::time::Duration;

/// Prints one line and flushes it, so that it precedes the output of the next child process.
///
/// A closed pipe (`cargo xtask help | head -1`) must not panic, as `println!` would.
#[cfg(not(test))]
pub(crate) fn line(text: fmt::Arguments<'_>) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// In tests, prints to the test runner's capture: a made-up failure must not appear in the log of a real run.
#[cfg(test)]
pub(crate) fn line(text: fmt::Arguments<'_>) {
    println!("{text}");
}

/// `println!` through [`line()`].
macro_rules! say {
    () => { $crate::console::line(format_args!("")) };
    ($($arg:tt)*) => { $crate::console::line(format_args!($($arg)*)) };
}
pub(crate) use say;

/// A heading with a blank line before it, bold on a terminal.
pub(crate) fn heading(text: &str) {
    let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    if colour { say!("\n\x1b[1m==> {text}\x1b[0m") } else { say!("\n==> {text}") }
}

/// A human-readable duration: `0.4 s`, `12.3 s`, `3 min 05 s`.
pub(crate) fn elapsed(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1} s", time.as_secs_f64())
    } else {
        format!("{} min {:02} s", seconds / 60, seconds % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        assert_eq!(elapsed(Duration::from_millis(420)), "0.4 s");
        assert_eq!(elapsed(Duration::from_millis(59_900)), "59.9 s");
        assert_eq!(elapsed(Duration::from_secs(185)), "3 min 05 s");
    }
}

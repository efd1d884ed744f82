//! A terminal in which the reader runs something that does not end by itself.

use std::{
    io::{BufRead, BufReader, Read},
    os::unix::process::CommandExt,
    process::{Child, Command, Stdio},
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

/// Longer than anything here takes, shorter than anybody waits.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a process has printed so far, and whether that was all.
#[derive(Default)]
struct Printed {
    text: Mutex<(String, bool)>,
    more: Condvar,
}

/// A running command. It ends with the test, and so does all that it has started.
pub(crate) struct Terminal {
    place: String,
    child: Child,
    printed: Arc<Printed>,
    errors: Option<thread::JoinHandle<String>>,
}

impl Terminal {
    /// Runs a command in a process group of its own.
    pub(crate) fn open(place: &str, mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        let mut child = command.spawn().expect("starts");
        let printed = Arc::new(Printed::default());
        let (stdout, note) = (child.stdout.take().expect("stdout"), Arc::clone(&printed));
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                note.text.lock().expect("no panic").0 += &format!("{line}\n");
                note.more.notify_all();
            }
            note.text.lock().expect("no panic").1 = true;
            note.more.notify_all();
        });
        let mut stderr = child.stderr.take().expect("stderr");
        // Read from the beginning: a log that nobody reads stops the process once the pipe is full.
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stderr.read_to_end(&mut bytes);
            String::from_utf8_lossy(&bytes).into_owned()
        });
        Self { place: place.to_owned(), child, printed, errors: Some(errors) }
    }

    /// Waits until what was printed has something in it, and gives that.
    pub(crate) fn until<T>(&mut self, wanted: impl Fn(&str) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        let mut text = self.printed.text.lock().expect("no panic");
        loop {
            if let Some(found) = wanted(&text.0) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            if text.1 || left.is_zero() {
                let said = text.0.clone();
                drop(text);
                let why = if left.is_zero() { "has not printed what was expected" } else { "has ended" };
                let errors = self.stop();
                panic!("{}: this {why}\n{said}\n{errors}", self.place);
            }
            text = self.printed.more.wait_timeout(text, left).expect("no panic").0;
        }
    }

    /// What it has printed so far.
    pub(crate) fn printed(&self) -> String {
        self.printed.text.lock().expect("no panic").0.clone()
    }

    /// Ctrl-C, and the wait for the end; gives what it wrote to standard error.
    pub(crate) fn stop(&mut self) -> String {
        self.signal("INT");
        let end = Instant::now() + PATIENCE;
        while self.child.try_wait().expect("can be asked").is_none() {
            if Instant::now() > end {
                self.signal("KILL");
            }
            thread::sleep(Duration::from_millis(10));
        }
        self.errors.take().map(|errors| errors.join().expect("no panic")).unwrap_or_default()
    }

    /// To all of the group, as a terminal does it.
    pub(crate) fn signal(&self, signal: &str) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args([&format!("-{signal}"), "--", &group]).stderr(Stdio::null()).status();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.signal("KILL");
        let _ = self.child.wait();
    }
}

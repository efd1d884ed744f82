//! `holdpoint check` as a person or a script meets it.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

fn holdpoint() -> Command {
    Command::new(env!("CARGO_BIN_EXE_holdpoint"))
}

fn check(args: &[&str]) -> Output {
    holdpoint().arg("check").args(args).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn rules() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/rules")
}

fn file(content: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(content).expect("it can be written");
    file
}

fn check_bytes(content: &[u8], args: &[&str]) -> Output {
    let file = file(content);
    check(&[args, &[file.path().to_str().expect("a path in UTF-8")]].concat())
}

#[test]
fn a_good_capture_is_silent_and_exits_0() {
    let out = check(&[&any("A1.good")]);
    assert_eq!((out.status.code(), text(&out.stdout), text(&out.stderr)), (Some(0), String::new(), String::new()));
}

/// The capture of a rule, whatever its form.
fn any(prefix: &str) -> String {
    let entry = fs::read_dir(rules())
        .expect("fixtures/rules")
        .filter_map(Result::ok)
        .find(|entry| entry.file_name().to_string_lossy().starts_with(&format!("{prefix}.")));
    entry.expect("a capture").path().display().to_string()
}

#[test]
fn a_bad_capture_gets_a_line_a_violation_and_exits_1() {
    let out = check_bytes(b"data: {\"type\":\"start\"}\n\ndata: {}\n\ndata: [DONE]\n\n", &[]);
    assert_eq!(out.status.code(), Some(1));
    let lines: Vec<String> =
        text(&out.stdout).lines().map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" ")).collect();
    assert_eq!(lines, ["1 M1", "3 F3", "5 F5"]);
}

#[test]
fn json_prints_the_violations_as_an_array() {
    let out = check_bytes(b"data: {}\n\n", &["--json"]);
    assert_eq!(out.status.code(), Some(1));
    let found: serde_json::Value = serde_json::from_slice(&out.stdout).expect("valid JSON");
    assert_eq!(found[0]["line"], 1);
    assert_eq!(found[0]["rule"], "F3");
    assert_eq!(found[0].as_object().map(serde_json::Map::len), Some(3));
    let out = check(&["--json", &any("A1.good")]);
    assert_eq!(text(&out.stdout), "[]\n");
}

#[test]
fn the_option_profile_selects_the_rules() {
    let live = any("K2.good");
    assert_eq!(check(&["--profile", "adk-live", &live]).status.code(), Some(0));
    assert_eq!(check(&["--profile", "adk-sse", &live]).status.code(), Some(1));
    let out = check(&["--profile", "adk", &live]);
    assert_eq!(out.status.code(), Some(2), "an unknown profile is an error of the command line");
    assert!(text(&out.stderr).contains("adk-sse"), "that says which there are: {}", text(&out.stderr));
}

#[test]
fn an_unreadable_file_is_reported_and_exits_2() {
    let cases: [(&str, Output, &str); 5] = [
        ("missing file", check(&["no/such/file.sse"]), "no/such/file.sse: no such file"),
        ("directory", check(&["."]), "is a directory"),
        ("binary", check_bytes(&[0x7f, b'E', b'L', b'F', 0, 1, 2, 0, 0xff, 0xfe, b'\n', 0, 0], &[]), "binary file"),
        ("empty", check_bytes(b"", &[]), "has no chunks"),
        ("a web page", check_bytes(b"<html><body>502 Bad Gateway</body></html>\n", &[]), "has no chunks"),
    ];
    for (name, out, message) in cases {
        let stderr = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{name}: {stderr}");
        assert!(stderr.starts_with("holdpoint check: ") && stderr.contains(message), "{name}: {stderr}");
        assert!(!stderr.contains("panicked"), "{name}");
    }
}

#[test]
fn a_truncated_capture_is_a_violation() {
    let good = fs::read(any("F2.good")).expect("a capture");
    let out = check_bytes(&good[..good.len() - 1], &[]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
    assert!(text(&out.stdout).contains(" F2 "), "{}", text(&out.stdout));
    let out = check_bytes(&good[..good.len() / 2], &[]);
    assert_eq!(out.status.code(), Some(1));
}

/// Under a limit of 150 MB of address space, for events and for JSON lines, and what follows the line is still checked.
#[test]
fn a_line_of_a_gigabyte_is_read_in_bounded_memory() {
    for (begin, after) in
        [("data: ", "\n\ndata: {}\n\n"), ("{\"type\":\"start\",\"messageId\":\"m\"}\n{\"x\":\"", "\n{}\n")]
    {
        let mut child = Command::new("sh")
            .args(["-c", "ulimit -v 150000 && exec \"$0\" check -", env!("CARGO_BIN_EXE_holdpoint")])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("sh runs");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        let writer = std::thread::spawn(move || -> std::io::Result<()> {
            let piece = vec![b'x'; 1 << 20];
            stdin.write_all(begin.as_bytes())?;
            for _ in 0..1024 {
                stdin.write_all(&piece)?;
            }
            stdin.write_all(after.as_bytes())
        });
        let out = child.wait_with_output().expect("it ends");
        writer.join().expect("the writer does not panic").expect("all of it is read");
        let stderr = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("larger than 16 MiB"), "{stderr}");
        assert!(text(&out.stdout).contains(" F3 "), "what follows is checked: {}", text(&out.stdout));
    }
}

#[test]
fn check_reads_standard_input() {
    let mut child =
        holdpoint().args(["check", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the binary runs");
    child.stdin.take().expect("stdin").write_all(b"[DONE]\n{}\n").expect("it reads");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stdout).starts_with("2 F3 "), "{}", text(&out.stdout));
}

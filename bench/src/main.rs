//! Benchmarks in sections, with targets for the numbers: `cargo xtask bench`.

mod capture;
mod measure;
mod plain;
mod plot;
mod report;
mod sections;
mod world;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use sections::{SECTIONS, Section};
use world::Engine;

/// The system allocator, with counting.
#[global_allocator]
static ALLOCATOR: alloc_tracker::Allocator<std::alloc::System> = alloc_tracker::Allocator::system();

const HELP: &str = "\
Benchmarks of Holdpoint.

Usage: cargo xtask bench [--section NAME]... [--quick|--full] [--assert] [--engine NAME] [--plots FOLDER]

  --section NAME  only this section; may be given more than once
  --quick         fewer and shorter samples: for trying, not for numbers
  --full          as much as a target speaks of, where that takes minutes
  --assert        exit with 1 where a target is missed
  --engine NAME   only this engine of the log, in the section `growth`: sqlite or postgres
  --plots FOLDER  where the plots are written: `bench/plots`, and nowhere with `--quick`
  --list          the names of the sections
  --help          this text
";

/// The parsed command line.
#[derive(Debug, Default)]
struct Wanted {
    sections: Vec<&'static Section>,
    is_quick: bool,
    is_full: bool,
    is_assert: bool,
    plots: Option<PathBuf>,
    engine: Option<&'static str>,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // A section may measure another process, which is this program again.
    if let Some((first, rest)) = args.split_first()
        && first == measure::CHILD
    {
        return sections::child(rest);
    }
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return print(HELP);
    }
    if args.iter().any(|arg| arg == "--list") {
        let lines = SECTIONS.iter().map(|section| format!("{:<12}{}\n", section.name, section.what));
        return print(&lines.collect::<String>());
    }
    match parse(&args) {
        Ok(wanted) => run(&wanted),
        Err(wrong) => {
            eprintln!("{wrong}\n\n{HELP}");
            ExitCode::from(2)
        }
    }
}

fn run(wanted: &Wanted) -> ExitCode {
    if cfg!(debug_assertions) {
        eprintln!("this is a debug build: its numbers say nothing. Use `cargo xtask bench`.\n");
    }
    let mut effort = measure::Effort::new(wanted.is_quick, wanted.is_full);
    // A quick run is not to replace the plots of a real one.
    let usual = (!wanted.is_quick).then(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("plots"));
    effort.engine = wanted.engine;
    effort.plots = wanted.plots.clone().or(usual);
    let mut missed = Vec::new();
    for section in &wanted.sections {
        let report = (section.run)(&effort);
        print(&format!("## {}: {}\n\n{report}\n", section.name, section.what));
        missed.extend(report.missed().map(str::to_owned));
    }
    if missed.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("targets missed: {}", missed.join("; "));
    if wanted.is_assert { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Prints, and stops quietly if the output is closed.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    ExitCode::SUCCESS
}

fn parse(args: &[String]) -> Result<Wanted, String> {
    let mut wanted = Wanted::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--quick" => wanted.is_quick = true,
            "--full" => wanted.is_full = true,
            "--assert" => wanted.is_assert = true,
            "--plots" => wanted.plots = Some(args.next().ok_or("`--plots` needs a folder")?.into()),
            "--engine" => {
                let named =
                    |name: &String| [Engine::SQLITE, Engine::POSTGRES].into_iter().find(|engine| engine == name);
                let engine = args.next().and_then(named);
                wanted.engine = Some(engine.ok_or("`--engine` needs `sqlite` or `postgres`")?);
            }
            "--section" => {
                let name = args.next().ok_or("`--section` needs a name")?;
                wanted.sections.push(find(name)?);
            }
            _ => match arg.strip_prefix("--section=") {
                Some(name) => wanted.sections.push(find(name)?),
                None => return Err(format!("`{arg}` is not known")),
            },
        }
    }
    if wanted.sections.is_empty() {
        wanted.sections = SECTIONS.iter().collect();
    }
    Ok(wanted)
}

fn find(name: &str) -> Result<&'static Section, String> {
    SECTIONS.iter().find(|section| section.name == name).ok_or_else(|| {
        let names: Vec<_> = SECTIONS.iter().map(|section| section.name).collect();
        format!("there is no section `{name}`; there is {}", names.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Wanted, String> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_command_line_is_read() {
        assert_eq!(parsed(&[]).expect("all").sections.len(), SECTIONS.len());
        let one = parsed(&["--section", "protocol", "--assert"]).expect("one");
        assert_eq!((one.sections.len(), one.is_assert, one.is_quick), (1, true, false));
        assert!(parsed(&["--section=protocol", "--quick"]).is_ok_and(|wanted| wanted.is_quick));
        assert!(parsed(&["--full"]).is_ok_and(|wanted| wanted.is_full && !wanted.is_quick));
        assert_eq!(parsed(&["--plots", "p"]).expect("a folder").plots, Some(PathBuf::from("p")));
        for wrong in
            [&["--section"][..], &["--section", "x"], &["--plots"], &["--engine", "mysql"], &["x"], &["--fast"]]
        {
            assert!(parsed(wrong).is_err(), "{wrong:?}");
        }
    }
}

//! A page of the documentation, as the blocks that its reader copies.

use std::{
    collections::VecDeque,
    fs,
    path::{Path, PathBuf},
};

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

/// A block of code, with its place.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) place: String,
    pub(crate) language: String,
    pub(crate) heading: String,
    pub(crate) text: String,
}

impl Block {
    /// What the reader writes in place of an example: a key of their own, the address of their own server. Fails if the
    /// block has no such example.
    pub(crate) fn with(mut self, example: &str, own: &str) -> Self {
        assert!(self.text.contains(example), "{}: the block has no `{example}`:\n{}", self.place, self.text);
        self.text = self.text.replace(example, own);
        self
    }
}

/// The page, and what its reader has not followed yet.
pub(crate) struct Page {
    pub(crate) name: &'static str,
    /// With single spaces in place of line breaks.
    prose: String,
    blocks: VecDeque<Block>,
}

impl Page {
    pub(crate) fn open(name: &'static str) -> Self {
        let text = fs::read_to_string(root().join(name)).expect("the page");
        Self { name, prose: words(&text), blocks: blocks(name, &text) }
    }

    /// The next block, which has to be in this language, below this heading.
    pub(crate) fn next(&mut self, heading: &str, language: &str) -> Block {
        let Some(block) = self.blocks.pop_front() else {
            panic!("{}: there is no further block, where the script expects {language} below `{heading}`", self.name)
        };
        assert_eq!(
            (block.heading.as_str(), block.language.as_str()),
            (heading, language),
            "{}: the script of this page expects another block here",
            block.place
        );
        block
    }

    /// A promise of the page, to the letter, so that who changes it comes by the test of it.
    pub(crate) fn promises<'a>(&self, text: &'a str) -> &'a str {
        assert!(self.prose.contains(&words(text)), "{} no longer says `{text}`", self.name);
        text
    }

    /// The first cells of a table's rows: the rows below this header.
    pub(crate) fn rows(&self, header: &str) -> Vec<String> {
        let text = fs::read_to_string(root().join(self.name)).expect("the page");
        let rows = text.lines().skip_while(|line| !line.starts_with(header)).skip(2);
        let rows: Vec<String> = rows
            .take_while(|line| line.starts_with("| "))
            .map(|line| line.trim_start_matches("| ").split(" | ").next().unwrap_or_default().trim().to_owned())
            .collect();
        assert!(!rows.is_empty(), "{} has no table that begins with `{header}`", self.name);
        rows
    }

    /// Whether a shell block begins a line with this program.
    pub(crate) fn runs(&self, program: &str) -> bool {
        let mut lines = self.blocks.iter().filter(|block| block.language == "sh").flat_map(|block| block.text.lines());
        lines.any(|line| line.split_whitespace().next() == Some(program))
    }

    /// The words that the page has in bold.
    pub(crate) fn bold(&self) -> Vec<String> {
        self.prose.split("**").skip(1).step_by(2).map(str::to_owned).collect()
    }

    /// Everything was followed.
    pub(crate) fn finish(&self) {
        let left: Vec<&str> = self.blocks.iter().map(|block| block.place.as_str()).collect();
        assert!(left.is_empty(), "no script follows these blocks: {left:?}");
    }
}

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn blocks(name: &str, text: &str) -> VecDeque<Block> {
    let mut found = VecDeque::new();
    let mut heading = String::new();
    let mut open: Option<(usize, Block)> = None;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        match (&mut open, trimmed.strip_prefix("```")) {
            (None, Some(language)) => {
                let block = Block {
                    place: format!("{name}:{}", at + 2),
                    language: language.to_owned(),
                    heading: heading.clone(),
                    text: String::new(),
                };
                open = Some((line.len() - trimmed.len(), block));
            }
            (Some(_), Some(_)) => found.extend(open.take().map(|(_, block)| block)),
            // In a list, the block is as far in as its fence.
            (Some((indent, block)), None) => {
                block.text.extend([line.get(*indent..).unwrap_or_default(), "\n"]);
            }
            (None, None) if line.starts_with('#') => heading = line.trim_start_matches('#').trim().to_owned(),
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "{name}: the last block has no end");
    found
}

/// Compares what was printed with what the page says is printed. `…` stands for any text of a line, and on a line of its
/// own for any lines.
pub(crate) fn shows(expected: &Block, printed: &str) {
    let pattern: Vec<&str> = expected.text.lines().collect();
    let lines: Vec<&str> = printed.lines().filter(|line| !line.is_empty()).collect();
    assert!(
        lines_match(&pattern, &lines),
        "{}: the page says that this is printed:\n{}\nand what is printed is:\n{}",
        expected.place,
        expected.text,
        lines.join("\n")
    );
}

fn lines_match(pattern: &[&str], lines: &[&str]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((&"…", rest)) => (0..=lines.len()).any(|skipped| lines_match(rest, &lines[skipped..])),
        Some((first, rest)) => {
            lines.split_first().is_some_and(|(line, lines)| line_matches(first, line) && lines_match(rest, lines))
        }
    }
}

/// Whether a line is as the page says, where `…` is any text.
pub(crate) fn line_matches(pattern: &str, line: &str) -> bool {
    match pattern.split_once('…') {
        None => pattern == line,
        Some((before, after)) => line.strip_prefix(before).is_some_and(|rest| {
            rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| line_matches(after, &rest[at..]))
        }),
    }
}

#[test]
fn printed_output_is_compared_line_by_line() {
    let block = |text: &str| Block {
        place: String::new(),
        language: "text".to_owned(),
        heading: String::new(),
        text: text.to_owned(),
    };
    let fails = |expected: &str, printed: &str| {
        let expected = block(expected);
        let printed = printed.to_owned();
        std::panic::catch_unwind(move || shows(&expected, &printed)).is_err()
    };
    shows(&block("a\n…\nid_…,{…}\n"), "a\nb\n\nc\nid_1,{\"x\":2}\n");
    assert!(fails("a\n", "b\n") && fails("a\n", "a\nb\n") && fails("a\nb\n", "a\n") && fails("id_…,x\n", "id_1,y\n"));
}

#[test]
fn blocks_know_their_heading_and_line() {
    let text = "# Page\n```sh\none\n```\n## Next\n1. a list\n\n   ```toml\n   a = 1\n     b\n   ```\n";
    let found = blocks("p.md", text);
    assert_eq!(
        (found[0].heading.as_str(), found[0].language.as_str(), found[0].text.as_str()),
        ("Page", "sh", "one\n")
    );
    assert_eq!((found[1].place.as_str(), found[1].text.as_str()), ("p.md:9", "a = 1\n  b\n"));
    assert_eq!(found[1].heading, "Next");
}

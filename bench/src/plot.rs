//! Plots with logarithmic axes, as SVG files that follow the reader's light or dark theme.

use std::{fmt::Write, fs, path::Path};

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 440.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 250.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 56.0;

/// Colours that can be told apart on white and on black, and by most colour-blind people together with the marks.
const COLOURS: [&str; 8] = ["#0077bb", "#ee7733", "#009988", "#cc3311", "#aa4499", "#999933", "#33bbee", "#888888"];

const STYLE: &str = "
  svg { font: 12px system-ui, sans-serif; }
  .back { fill: #ffffff; } text { fill: #24292f; } .grid { stroke: #d0d7de; } .axis { stroke: #57606a; }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; } text { fill: #e6edf3; } .grid { stroke: #30363d; } .axis { stroke: #8b949e; }
  }
";

/// A line: its name in the legend, and its points.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// A plot.
#[derive(Debug, Clone)]
pub(crate) struct Plot {
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) lines: Vec<Line>,
}

/// A logarithmic axis between two powers of ten, on a range of the drawing.
struct Axis {
    from: i32,
    to: i32,
    begin: f64,
    end: f64,
}

impl Axis {
    fn new(numbers: impl Iterator<Item = f64>, begin: f64, end: f64) -> Self {
        let (low, high) = numbers.fold((f64::MAX, f64::MIN_POSITIVE), |(low, high), n| (low.min(n), high.max(n)));
        let from = low.min(high).log10().floor() as i32;
        Self { from, to: (high.log10().ceil() as i32).max(from + 1), begin, end }
    }

    fn at(&self, number: f64) -> f64 {
        let part = (number.log10() - f64::from(self.from)) / f64::from(self.to - self.from);
        self.begin + part * (self.end - self.begin)
    }
}

impl Plot {
    /// Writes `name.svg` to a folder.
    pub(crate) fn write(&self, folder: &Path, name: &str) {
        fs::create_dir_all(folder).expect("the folder of the plots");
        fs::write(folder.join(name).with_extension("svg"), self.draw()).expect("a plot is written");
    }

    fn draw(&self) -> String {
        let is_shown = |(x, y): &&(f64, f64)| *x > 0.0 && *y > 0.0 && x.is_finite() && y.is_finite();
        let points = || self.lines.iter().flat_map(|line| &line.points).filter(is_shown);
        let x = Axis::new(points().map(|(x, _)| *x), LEFT, WIDTH - RIGHT);
        let y = Axis::new(points().map(|(_, y)| *y), HEIGHT - BOTTOM, TOP);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\">\n\
             <title>{}</title>\n<style>{STYLE}</style>\n\
             <rect class=\"back\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>\n",
            escaped(&self.title)
        );
        text(&mut svg, LEFT, 24.0, "start", &self.title, "font-weight=\"600\" font-size=\"15\"");
        for power in x.from..=x.to {
            let at = x.at(10_f64.powi(power));
            rule(&mut svg, "grid", (at, TOP), (at, HEIGHT - BOTTOM));
            text(&mut svg, at, HEIGHT - BOTTOM + 18.0, "middle", &shown(power), "");
        }
        for power in y.from..=y.to {
            let at = y.at(10_f64.powi(power));
            rule(&mut svg, "grid", (LEFT, at), (WIDTH - RIGHT, at));
            text(&mut svg, LEFT - 8.0, at + 4.0, "end", &shown(power), "");
        }
        rule(&mut svg, "axis", (LEFT, HEIGHT - BOTTOM), (WIDTH - RIGHT, HEIGHT - BOTTOM));
        rule(&mut svg, "axis", (LEFT, TOP), (LEFT, HEIGHT - BOTTOM));
        let middle = f64::midpoint(LEFT, WIDTH - RIGHT);
        text(&mut svg, middle, HEIGHT - 14.0, "middle", &self.x, "");
        let (at_x, at_y) = (18.0, f64::midpoint(TOP, HEIGHT - BOTTOM));
        text(&mut svg, at_x, at_y, "middle", &self.y, &format!("transform=\"rotate(-90 {at_x} {at_y})\""));
        for (number, line) in self.lines.iter().enumerate() {
            let points: Vec<_> = line.points.iter().filter(is_shown).map(|(px, py)| (x.at(*px), y.at(*py))).collect();
            self.line(&mut svg, number, &line.name, &points);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn line(&self, svg: &mut String, number: usize, name: &str, points: &[(f64, f64)]) {
        let colour = COLOURS[number % COLOURS.len()];
        // The colours repeat with another dash.
        let dash = if number < COLOURS.len() { "" } else { " stroke-dasharray=\"5 3\"" };
        let path: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dash} points=\"{}\"/>",
            path.join(" ")
        );
        let at = TOP + 10.0 + 22.0 * number as f64;
        let begin = WIDTH - RIGHT + 18.0;
        let _ = writeln!(
            svg,
            "<line stroke=\"{colour}\" stroke-width=\"2\"{dash} x1=\"{begin}\" y1=\"{at}\" x2=\"{}\" y2=\"{at}\"/>",
            begin + 24.0
        );
        for (x, y) in points.iter().copied().chain([(begin + 12.0, at)]) {
            mark(svg, number, colour, x, y);
        }
        text(svg, begin + 32.0, at + 4.0, "start", name, "");
    }
}

/// A mark that differs from line to line.
fn mark(svg: &mut String, number: usize, colour: &str, x: f64, y: f64) {
    let _ = match number % 3 {
        0 => writeln!(svg, "<circle fill=\"{colour}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        1 => writeln!(
            svg,
            "<rect fill=\"{colour}\" x=\"{:.1}\" y=\"{:.1}\" width=\"7\" height=\"7\"/>",
            x - 3.5,
            y - 3.5
        ),
        _ => writeln!(svg, "<path fill=\"{colour}\" d=\"M{x:.1} {:.1}l5 9h-10z\"/>", y - 5.0),
    };
}

fn rule(svg: &mut String, class: &str, from: (f64, f64), to: (f64, f64)) {
    let ((x1, y1), (x2, y2)) = (from, to);
    let _ = writeln!(svg, "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>");
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, text: &str, more: &str) {
    let text = escaped(text);
    let _ = writeln!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {more}>{text}</text>");
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn shown(power: i32) -> String {
    match power {
        -3..=5 => format!("{}", 10_f64.powi(power)),
        _ => format!("1e{power}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plot_has_its_axes_and_its_lines() {
        let line = Line { name: "a < b".to_owned(), points: vec![(100.0, 0.5), (10_000.0, 50.0), (0.0, f64::NAN)] };
        let plot = Plot { title: "T".to_owned(), x: "x".to_owned(), y: "y".to_owned(), lines: vec![line] };
        let svg = plot.draw();
        // The ends of the axes are powers of ten, and what can't be shown is left out.
        assert!(svg.contains(&format!("points=\"{LEFT:.1},")), "{svg}");
        assert!(svg.contains("a &lt; b") && !svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert!(svg.contains(">0.1<") && svg.contains(">100<") && svg.contains(">10000<"), "{svg}");
    }
}

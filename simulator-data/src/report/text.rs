// SPDX-License-Identifier: GPL-2.0-only
//! Pieces of tables: columns, wrapped lines, bars.

/// Columns of a terminal that are never exceeded.
pub const WIDTH: usize = 100;

/// Right-aligned columns, each as wide as its widest cell, two blanks between; the first row is
/// the head.
pub fn grid(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |i: usize| {
        let widths = rows.iter().filter_map(|r| r.get(i)).map(|cell| cell.chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, w)| format!("{cell:>w$}")).collect();
        out.push_str(cells.join("  ").trim_end());
        out.push('\n');
    }
    out
}

/// `text` broken at blanks to fit, and where it must be; the first line begins with `first`, the
/// others with `next`.
pub fn wrap(first: &str, next: &str, text: &str) -> String {
    let mut out = String::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        let length = line.chars().count() + usize::from(!empty) + word.chars().count();
        if !empty && length > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = next.to_owned();
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        for c in word.chars() {
            if line.chars().count() == WIDTH {
                out.push_str(&line);
                out.push('\n');
                line = next.to_owned();
            }
            line.push(c);
        }
        empty = false;
    }
    out.push_str(line.trim_end());
    out.push('\n');
    out
}

/// A share of 100 as a bar of `width` columns, to an eighth of a column.
pub fn bar(pct: f64, width: usize) -> String {
    const PARTS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];
    let share = if pct.is_finite() { (pct / 100.0).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * (width * 8) as f64).round() as usize;
    let mut out: String = std::iter::repeat_n('█', eighths / 8).collect();
    if eighths % 8 > 0 {
        out.push(PARTS[eighths % 8]);
    }
    let blanks = width - out.chars().count();
    out.extend(std::iter::repeat_n('·', blanks));
    out
}

/// With so many decimals, thousands set off where there are none.
pub fn number(value: f64, decimals: usize) -> String {
    if decimals > 0 {
        return format!("{value:.decimals$}");
    }
    let plain = format!("{:.0}", value.abs());
    let mut out = String::new();
    for (i, digit) in plain.chars().enumerate() {
        if i > 0 && (plain.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    let sign = if value < 0.0 && plain != "0" { "-" } else { "" };
    format!("{sign}{out}")
}

/// With its sign and so many decimals; what rounds to nothing is +0.
pub fn signed(value: f64, decimals: usize) -> String {
    let text = format!("{value:+.decimals$}");
    match text.contains(|c: char| ('1'..='9').contains(&c)) || !value.is_finite() {
        true => text,
        false => text.replace('-', "+"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        assert_eq!(grid(&[row(["a", "long"]), row(["123", ""])]), "  a  long\n123\n");
    }

    #[test]
    fn text_is_broken_at_blanks_or_where_it_must_be() {
        assert_eq!(wrap("- ", "  ", "one two"), "- one two\n");
        let long = wrap("- ", "  ", &format!("{} {}", "a".repeat(97), "b".repeat(150)));
        let lines: Vec<&str> = long.lines().collect();
        assert_eq!(lines[0], format!("- {}", "a".repeat(97)));
        assert_eq!(lines[1], format!("  {}", "b".repeat(98)));
        assert_eq!(lines[2], format!("  {}", "b".repeat(52)));
        assert_eq!(wrap("x", "", ""), "x\n");
    }

    #[test]
    fn bars_show_eighths() {
        assert_eq!(bar(0.0, 4), "····");
        assert_eq!(bar(50.0, 4), "██··");
        assert_eq!(bar(100.0, 4), "████");
        assert_eq!(bar(28.125, 4), "█▏··");
        assert_eq!(bar(150.0, 2), "██");
        assert_eq!(bar(f64::NAN, 2), "··");
    }

    #[test]
    fn nothing_has_no_minus() {
        let all = [(-0.04, 1), (-0.05001, 1), (0.0, 2), (-10.0, 0), (f64::NEG_INFINITY, 1)];
        let shown: Vec<String> = all.iter().map(|(v, d)| signed(*v, *d)).collect();
        assert_eq!(shown, ["+0.0", "-0.1", "+0.00", "-10", "-inf"]);
    }

    #[test]
    fn thousands_are_set_off() {
        let all = [(105_476.0, 0), (999.0, 0), (1000.4, 0), (0.095, 2), (-1234.0, 0), (-0.2, 0)];
        let shown: Vec<String> = all.iter().map(|(v, d)| number(*v, *d)).collect();
        assert_eq!(shown, ["105,476", "999", "1,000", "0.10", "-1,234", "0"]);
    }
}

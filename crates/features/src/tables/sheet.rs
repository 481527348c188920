//! Parser for CSV files (RFC 4180) with a comma, a semicolon or a tab between the cells.

/// A line of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvLine {
    /// Number of the line in the file, from 1. A cell may contain line breaks; then the number is
    /// that of the first line.
    pub(super) number: u64,
    /// The cells of the line, without blanks around them.
    pub(super) cells: Vec<String>,
}

/// The parsed lines of a CSV file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvTable {
    pub(super) header: CsvLine,
    pub(super) lines: Vec<CsvLine>,
}

/// The error of a line that is not valid CSV.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvError {
    pub(super) line: u64,
    pub(super) message: String,
}

/// Parses a CSV file. Skips blank lines.
pub(super) fn parse_csv(text: &str) -> Result<CsvTable, CsvError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter(text))
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut lines = Vec::new();
    let mut counter = LineCounter::default();
    for record in reader.records() {
        let record = record.map_err(|error| CsvError {
            line: error.position().map_or(1, csv::Position::line),
            message: error.to_string(),
        })?;
        let number = counter.line(text, record.position());
        let cells: Vec<String> = record.iter().map(str::to_owned).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            lines.push(CsvLine { number, cells });
        }
    }
    let mut lines = lines.into_iter();
    let header = lines.next().ok_or_else(|| CsvError {
        line: 1,
        message: "the file has no header line".to_owned(),
    })?;
    Ok(CsvTable {
        header,
        lines: lines.collect(),
    })
}

/// Counts the lines up to a record. The line number of the `csv` crate is too low if a line ends
/// with CR LF, or after blank lines.
#[derive(Default)]
struct LineCounter {
    /// The offset in bytes up to which line breaks have been counted.
    byte: usize,
    /// The number of line breaks before the offset `byte`.
    breaks: u64,
}

impl LineCounter {
    /// Returns the number of the line on which a record begins. The counter only moves forward, so
    /// call this method for the records in the order of the file.
    fn line(&mut self, text: &str, position: Option<&csv::Position>) -> u64 {
        let byte = position.map_or(0, csv::Position::byte);
        let byte = usize::try_from(byte).unwrap_or(usize::MAX);
        let rest = text.as_bytes().get(byte..).unwrap_or_default();
        let blank = rest
            .iter()
            .take_while(|byte_value| matches!(byte_value, b'\r' | b'\n'));
        let start = byte + blank.count();
        let passed = text.as_bytes().get(self.byte..start).unwrap_or_default();
        self.breaks += passed
            .iter()
            .map(|byte_value| u64::from(*byte_value == b'\n'))
            .sum::<u64>();
        self.byte = start;
        self.breaks + 1
    }
}

/// Returns the separator of the cells: the candidate that occurs most often in the header line.
fn delimiter(text: &str) -> u8 {
    let header = text.lines().find(|line| !line.trim().is_empty());
    let count = |candidate: u8| {
        header.map_or(0, |line| {
            line.bytes().filter(|byte| *byte == candidate).count()
        })
    };
    // `max_by_key` returns the last of equal candidates, so the comma is the default.
    [b';', b'\t', b',']
        .into_iter()
        .max_by_key(|candidate| count(*candidate))
        .unwrap_or(b',')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<(u64, Vec<String>)> {
        let grid = parse_csv(text).unwrap();
        let lines = [vec![grid.header], grid.lines].concat();
        lines
            .into_iter()
            .map(|line| (line.number, line.cells))
            .collect()
    }

    #[test]
    fn cells_are_separated_by_a_comma_a_semicolon_or_a_tab() {
        for text in ["a,b\n1,2\n", "a;b\r\n1;2\r\n", "\u{feff}a\tb\n1\t2"] {
            assert_eq!(
                cells(text),
                [
                    (1, vec!["a".to_owned(), "b".to_owned()]),
                    (2, vec!["1".to_owned(), "2".to_owned()])
                ]
            );
        }
        assert_eq!(cells("name\nx, y\n")[1].1, ["x", "y"]);
    }

    #[test]
    fn lines_keep_their_number_in_the_file() {
        let lines = cells("a,b\n\n\"x\ny\",2\n3,4\n");
        let numbers: Vec<u64> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 3, 5]);
        assert_eq!(lines[1].1[0], "x\ny");
    }

    #[test]
    fn a_file_without_lines_is_refused() {
        assert_eq!(parse_csv(" \n").unwrap_err().line, 1);
    }
}

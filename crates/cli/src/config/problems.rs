//! All problems of a kind, reported together instead of one by one.

use std::fmt;

/// One or more problems.
#[derive(Debug)]
pub struct Problems<E>(Vec<E>);

impl<E> Problems<E> {
    /// The values, or the problems if there is any.
    pub(super) fn collect<T, C: FromIterator<T>>(results: impl IntoIterator<Item = Result<T, E>>) -> Result<C, Self> {
        let mut problems = Vec::new();
        let values = results.into_iter().filter_map(|result| result.map_err(|problem| problems.push(problem)).ok());
        let values = values.collect();
        if problems.is_empty() { Ok(values) } else { Err(Self(problems)) }
    }

    /// The values, or the problems of all of them.
    pub(super) fn flatten<T, C: FromIterator<T>>(
        results: impl IntoIterator<Item = Result<T, Self>>,
    ) -> Result<C, Self> {
        let values: Result<C, Problems<Self>> = Problems::collect(results);
        values.map_err(|problems| Self(problems.into_iter().flatten().collect()))
    }

    /// The same problems, told otherwise.
    pub(super) fn map<F>(self, change: impl FnMut(E) -> F) -> Problems<F> {
        Problems(self.0.into_iter().map(change).collect())
    }
}

impl<E> From<E> for Problems<E> {
    fn from(problem: E) -> Self {
        Self(vec![problem])
    }
}

impl<E> IntoIterator for Problems<E> {
    type Item = E;
    type IntoIter = std::vec::IntoIter<E>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<E: fmt::Display> fmt::Display for Problems<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.0.iter().enumerate() {
            write!(f, "{}{problem}", if at == 0 { "" } else { "; " })?;
        }
        Ok(())
    }
}

impl<E: std::error::Error> std::error::Error for Problems<E> {}

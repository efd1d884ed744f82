//! Reading requests within limits, and the failures of those that can't be served.

mod body;
mod failure;
mod parts;
mod trace;

pub(crate) use body::{body, parse};
pub(crate) use failure::{Failure, Form, Limit, in_force, shape};
pub(crate) use parts::{Parameters, PathId, Upgrade};
pub(crate) use trace::traced;

//! The verification of merged work before it lands: what is verified, which tasks are to blame when
//! it fails, and what lands.

mod culprits;
mod verified_landing;
mod verify;

pub use culprits::{Culprit, CulpritSearch, Decision, Purpose, Question, Verdict};
pub use verified_landing::VerifiedLanding;
pub use verify::{
    ConflictingWork, FailedVerification, Merged, Verification, VerificationError,
    VerificationRequest, Verifier, verify,
};

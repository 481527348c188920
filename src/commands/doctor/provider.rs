//! Checks the OpenID provider: its metadata, its keys, and whether this service and its redirect
//! address are registered there.

use engine::clock::Clock;

use super::report::DoctorReport;
use crate::config::{Oidc, ServeFlags};
use crate::people::{FROM_PROVIDER, IdentityProvider};

const PROVIDER: &str = "provider";

pub(super) async fn check(flags: &ServeFlags, clock: &Clock, report: &mut DoctorReport) {
    let Ok(oidc) = flags.oidc() else { return };
    let Some(Oidc {
        issuer,
        client_id,
        client_secret,
    }) = oidc
    else {
        return report.good(PROVIDER, "none is set; members sign in by links");
    };
    let Some(address) = &flags.public_address() else {
        return report.wrong_with(
            PROVIDER,
            "without --public-url the redirect address changes with the listening address",
            "set --public-url",
        );
    };
    let redirect = format!("{address}{FROM_PROVIDER}");
    let provider = match IdentityProvider::new(&issuer, &client_id, client_secret) {
        Ok(provider) => provider,
        Err(error) => return report.wrong_with(PROVIDER, &error, "correct --oidc-issuer"),
    };
    match provider.examine(clock, &redirect).await {
        Ok(keys) => report.good(
            PROVIDER,
            &format!("{issuer} publishes its keys ({keys}) and takes {redirect}"),
        ),
        Err((error, remedy)) => report.wrong_with(PROVIDER, &error, &remedy),
    }
}

//! Checks the OpenID provider: its metadata, its keys, and whether this service and its redirect
//! address are registered with the provider.

use access::people::{IdentityProvider, PROVIDER_CALLBACK};
use engine::clock::Clock;

use super::report::DoctorReport;
use crate::config::{Oidc, ServeFlags};

const PROVIDER: &str = "provider";

pub(super) async fn check(flags: &ServeFlags, clock: &Clock, report: &mut DoctorReport) {
    let Ok(oidc) = flags.oidc() else { return };
    let Some(Oidc {
        issuer,
        client_id,
        client_secret,
    }) = oidc
    else {
        return report.add_success(PROVIDER, "none is set; members sign in by links");
    };
    let Some(address) = &flags.public_address() else {
        return report.add_error(
            PROVIDER,
            "without --public-url the redirect address changes with the listening address",
            "set --public-url",
        );
    };
    let redirect = format!("{address}{PROVIDER_CALLBACK}");
    let provider = match IdentityProvider::new(&issuer, &client_id, client_secret) {
        Ok(provider) => provider,
        Err(error) => return report.add_error(PROVIDER, &error, "correct --oidc-issuer"),
    };
    match provider.check_sign_in(clock, &redirect).await {
        Ok(keys) => report.add_success(
            PROVIDER,
            &format!("{issuer} publishes its keys ({keys}) and takes {redirect}"),
        ),
        Err((error, remedy)) => report.add_error(PROVIDER, &error, &remedy),
    }
}

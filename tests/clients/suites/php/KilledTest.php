<?php

declare(strict_types=1);

require_once __DIR__ . '/Client.php';
require_once __DIR__ . '/Mockserver.php';

use PHPUnit\Framework\TestCase;

/** Ends its process. */
final class KilledTest extends TestCase
{
    public function testEndsItsProcess(): void
    {
        Mockserver::test(__METHOD__, [], function (Mockserver $mock): void {
            try {
                (new Client($mock->baseUrl, $mock->secretKey, fn () => null))->campaign('campaign_none');
            } catch (Refused) {
                posix_kill(getmypid(), SIGKILL);
            }
        });
    }
}

<?php

declare(strict_types=1);

require_once __DIR__ . '/Client.php';
require_once __DIR__ . '/Mockserver.php';

use PHPUnit\Framework\TestCase;

/** Polls until PHPUnit ends it, after the ten seconds of a medium test. */
final class SlowTest extends TestCase
{
    /** @medium */
    public function testPollsForEver(): void
    {
        Mockserver::test(__METHOD__, [], function (Mockserver $mock): void {
            $client = new Client($mock->baseUrl, $mock->secretKey, fn () => null);
            $session = $client->openSession();
            while ($client->session($session)['status'] === 'pending') {
                usleep(50000);
            }
        });
    }
}

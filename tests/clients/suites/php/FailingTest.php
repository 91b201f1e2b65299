<?php

declare(strict_types=1);

require_once __DIR__ . '/Client.php';
require_once __DIR__ . '/Mockserver.php';

use PHPUnit\Framework\TestCase;

/** Fails on purpose: what is left of the failed tests is looked at. */
final class FailingTest extends TestCase
{
    public function testReadsACampaign(): void
    {
        Mockserver::test(__METHOD__, [], fn (Mockserver $mock) => (new Client($mock->baseUrl, $mock->secretKey, fn () => null))->campaign('campaign_none'));
    }

    public function testARuleNeverFires(): void
    {
        Mockserver::test(__METHOD__, [], fn (Mockserver $mock) => $mock->control('POST', '/rules', ['on' => 'startCampaign', 'nth' => 1, 'do' => ['drop' => 'after']]));
    }

    public function testLacksACall(): void
    {
        Mockserver::test(__METHOD__, [], fn (Mockserver $mock) => $mock->control('POST', '/journal/verify', ['operation' => 'listCampaigns', 'times' => 1]));
    }

    public function testHasLostItsSandbox(): void
    {
        Mockserver::test(__METHOD__, [], function (Mockserver $mock): void {
            $mock->close();
            self::fail('got 1; expected 2');
        });
    }
}

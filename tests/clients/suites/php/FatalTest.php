<?php

declare(strict_types=1);

require_once __DIR__ . '/Client.php';
require_once __DIR__ . '/Mockserver.php';

use PHPUnit\Framework\TestCase;

/** Runs out of memory. */
final class FatalTest extends TestCase
{
    public function testRunsOutOfMemory(): void
    {
        Mockserver::test(__METHOD__, [], function (Mockserver $mock): void {
            $mock->receive();
            ini_set('memory_limit', '40M');
            str_repeat('x', 50_000_000);
        });
    }
}
